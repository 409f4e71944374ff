"""Formats of answers that belong to no benchmark."""
