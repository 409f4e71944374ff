"""Packages as others install them: built, put into an environment of their own, and compared with their source."""
