"""Metrics that score an answer's structure: the kinds, numbers and order of its
parts."""
