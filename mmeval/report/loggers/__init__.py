"""Loggers: plugins that take finished results elsewhere, used only if named."""
