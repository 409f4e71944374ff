"""Compares runs from their folders: paired tests, the differences that these tests can
detect, and the settings in which runs differ."""
