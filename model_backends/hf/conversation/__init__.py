"""Conversations in the form that a model takes: messages, chat templates, rows, batches of tensors."""
