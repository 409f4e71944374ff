"""Sounds, videos and their containers."""
