"""Loaders of data sets that any task can name."""
