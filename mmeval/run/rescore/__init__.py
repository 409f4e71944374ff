"""Scores a run folder again."""
