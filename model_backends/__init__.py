"""Backends answer requests. Each module or package holds one and has its name in ``--model``."""
