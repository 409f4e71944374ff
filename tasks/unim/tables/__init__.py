"""The tables of UniM's paper, and the numbers in them."""
