"""ISG-Bench's four levels: structure, pairs of blocks, pictures, the whole answer."""
