"""ISG-Bench's question generation: a model writes a row's questions in five stages."""
