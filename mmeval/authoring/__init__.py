"""Checks for authors: validate, bounds, metrics, packages and scaffolds."""
