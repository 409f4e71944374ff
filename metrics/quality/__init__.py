"""Metrics of the quality of an answer's items, and scores that combine it with their correctness."""
