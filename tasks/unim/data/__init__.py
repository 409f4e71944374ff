"""Reads UniM's published data: folders, records and media."""
