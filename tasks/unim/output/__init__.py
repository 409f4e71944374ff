"""Answers in the layout of UniM's released scripts, read and written."""
