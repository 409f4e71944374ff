"""A model's files, and the processor and the weights that are loaded from them."""
