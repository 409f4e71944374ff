"""Finds a model's files, and loads the processor and the weights from them."""
