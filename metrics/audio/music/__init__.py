"""Metrics for music in the sounds of an answer: beats and tempo."""
