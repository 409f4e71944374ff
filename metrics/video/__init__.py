"""Metrics that score videos."""
