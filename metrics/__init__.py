"""Metrics: what they measure, by kind of content."""
