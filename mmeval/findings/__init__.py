"""Findings: what is wrong, with what, and what to do. Facts, which renderers word."""
