"""Compares automatic scores with people's ratings, and corrects them by few ratings."""
