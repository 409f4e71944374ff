"""Keeps the outcome of a finished run, so that the same command answers at once."""
