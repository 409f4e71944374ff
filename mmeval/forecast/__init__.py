"""Dry run: the requests, data and cost of a run, before it."""
