"""Fetch and check the data and weights of tasks."""
