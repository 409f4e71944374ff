"""Correlates numbers with another board, or scores with ratings of people."""
