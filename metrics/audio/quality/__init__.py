"""Measures the terms of a sound's quality in separate modules, and combines them."""
