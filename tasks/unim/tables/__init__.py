"""The tables of UniM's paper, and the numbers that they are made of."""
