"""Measures how well a metric agrees with people, and people with each other."""
