"""Measures of a picture's quality: natural scene statistics, and UniM's stand-ins."""
