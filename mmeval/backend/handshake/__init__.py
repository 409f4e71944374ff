"""The handshake: a few questions that find out what a model can do.

The questions are programs, like those of agents and judges: the broker sends their
calls, journals the replies and counts their cost.
"""
