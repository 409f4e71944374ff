"""Metrics for the sounds in an answer."""
