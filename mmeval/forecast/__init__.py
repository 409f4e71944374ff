"""Dry run: a forecast of the requests, data and cost of a run."""
