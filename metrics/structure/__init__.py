"""Metrics that score an answer's structure: kinds, numbers and order of parts."""
