"""Checks of a judge: does it repeat itself, look at media, and keep to the answer?"""
