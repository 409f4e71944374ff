"""Captions: descriptions of an answer's media for a judge that reads only text."""
