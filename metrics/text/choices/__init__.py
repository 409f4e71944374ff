"""Finds the option that an answer to a multiple-choice question names."""
