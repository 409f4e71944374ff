"""Metrics of how good the items of an answer are made, and scores that weigh it with what they say."""
