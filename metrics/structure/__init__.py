"""Metrics of an answer's structure: which kinds of part it has, how many, and in what order."""
