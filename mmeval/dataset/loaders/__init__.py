"""Loaders of data sets that every task can use."""
