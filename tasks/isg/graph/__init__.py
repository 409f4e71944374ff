"""ISG-Bench's question generation: a model writes the questions of a row, in five
stages."""
