"""Writes the tables of layouts as text: for a terminal, a page, a paper or a script."""
