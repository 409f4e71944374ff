"""Metrics that ask a judge. Their prompts are in ``prompts/``."""
