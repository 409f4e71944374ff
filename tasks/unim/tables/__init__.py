"""Makes the tables of UniM's paper, and computes their numbers."""
