"""Prompts that authors released: a catalogue of each benchmark, and the recipes."""
