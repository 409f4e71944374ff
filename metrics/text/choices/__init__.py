"""Reads which option an answer names: its words, its marks, its languages."""
