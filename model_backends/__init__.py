"""Backends answer requests: one a module or package, with its name in ``--model``."""
