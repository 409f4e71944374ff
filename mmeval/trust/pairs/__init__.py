"""Ranks models by people's judgements of pairs of their answers."""
