"""Metrics that ask a judge, each with its prompts in ``prompts/``."""
