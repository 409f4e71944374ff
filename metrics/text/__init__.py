"""Metrics that score an answer's text."""
