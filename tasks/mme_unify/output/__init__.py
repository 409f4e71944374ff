"""Answers in the result files of MME-Unify's scripts, read and written."""
