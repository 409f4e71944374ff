"""Executes calls: replay, limits, retries, outages, batches and workers."""
