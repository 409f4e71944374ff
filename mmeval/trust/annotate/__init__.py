"""Collects ratings of people: a local page that shows answers blind, one at a time."""
