"""Runs the calls of programs: replay, limits, retries, outages, batches, workers."""
