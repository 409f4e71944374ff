"""The version of mmeval. The module is empty otherwise, so that reading it imports
nothing."""

__version__ = "0.1.0"
