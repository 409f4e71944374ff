"""Reads and writes answers in the layout of UniM's released scripts."""
