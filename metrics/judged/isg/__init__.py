"""ISG-Bench's four levels: structure, pairs of blocks, pictures, and the whole
answer."""
