"""Metrics of pictures."""
