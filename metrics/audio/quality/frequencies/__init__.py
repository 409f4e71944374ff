"""Measures the frequencies of a recording: spectrum, tones and noise."""
