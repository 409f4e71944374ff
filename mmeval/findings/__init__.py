"""Findings: records of what is wrong and how to fix it, and their rendering."""
