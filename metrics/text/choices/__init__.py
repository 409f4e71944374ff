"""Reads which option an answer to a multiple-choice question names."""
