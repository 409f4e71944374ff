"""Metrics of the quality of an answer's items, alone or with their correctness."""
