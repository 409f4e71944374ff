"""Metrics for the pictures in an answer."""
