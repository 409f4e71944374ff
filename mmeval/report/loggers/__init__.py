"""Loggers are plugins that send finished results to a tracker, and are used only if
named."""
