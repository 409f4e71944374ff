"""Loggers are plugins that send finished results to a tracker. A run uses only the
loggers that its settings name."""
