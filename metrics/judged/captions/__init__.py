"""Captions: the media of an answer put into words, for a judge that reads words alone."""
