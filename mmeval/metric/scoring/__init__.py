"""Scores trials in separate processes and stores the rows in score sets."""
