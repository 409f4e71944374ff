"""ISG-Bench's four levels: structure, block pairs, pictures, and the whole answer."""
