"""The tables of UniM's paper: what they show, and what it is computed from."""
