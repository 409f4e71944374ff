"""Loggers: plugins that take finished results elsewhere. None is in use unless it is named."""
