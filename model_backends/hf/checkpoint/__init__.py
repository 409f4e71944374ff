"""A model's files, and the processor and the weights loaded from them."""
