"""Answers in the result files of MME-Unify's own scripts: read and written."""
