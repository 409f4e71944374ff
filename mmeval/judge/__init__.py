"""Judges: forms of a reply, questions and verdicts."""
