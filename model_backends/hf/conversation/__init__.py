"""Conversations as a model takes them: messages, templates, rows and tensors."""
