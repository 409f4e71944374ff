"""A package, so that its Chromium ends with its last test: while it is open, no other
event loop runs here."""
