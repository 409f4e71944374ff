"""Metrics that call a judge. Their prompts are in ``prompts/``."""
