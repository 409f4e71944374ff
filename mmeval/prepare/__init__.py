"""Fetches and checks the data and weights of tasks."""
