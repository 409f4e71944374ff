"""The endpoint ``responses``, and the state of its conversations.

With this endpoint, OpenAI's models write text and pictures in one answer.
"""
