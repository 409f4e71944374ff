"""The agents of MMMG.

A planner writes placeholders, and tools make the media that these describe.
"""
