"""The version of mmeval. The module contains nothing else, so that reading the version
imports nothing."""

__version__ = "0.1.0"
"""The version of this mmeval."""
