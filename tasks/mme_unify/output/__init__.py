"""Reads and writes answers in the result files of MME-Unify's scripts."""
