"""Metrics of videos."""
