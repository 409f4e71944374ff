"""Scores trials in processes of their own and keeps the rows in score sets."""
