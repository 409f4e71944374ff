"""Checks a built wheel: its entry points and its files."""
