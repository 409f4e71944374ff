"""Prompts for a model: messages, templates, rows and tensors."""
