"""Checks of a built wheel: its entry points and its files."""
