"""The version of mmeval; nothing else, so that reading it imports nothing."""

__version__ = "0.1.0"
