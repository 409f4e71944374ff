"""Loggers: plugins that send finished results to a tracker, used only if named."""
