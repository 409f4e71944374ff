"""Backends: what answers requests. Each module holds one and is named as ``--model`` names it."""
