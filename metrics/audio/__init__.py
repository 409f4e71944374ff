"""Metrics of the sounds of an answer."""
