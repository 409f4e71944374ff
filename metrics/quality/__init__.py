"""Metrics that score the quality of an answer's items, alone or with correctness."""
