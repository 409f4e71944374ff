"""A conversation as a model takes it: messages, chat templates, batches of tensors."""
