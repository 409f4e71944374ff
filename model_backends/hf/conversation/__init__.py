"""Prepares prompts for a model: messages, templates, rows and tensors."""
