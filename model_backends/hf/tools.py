"""The tool ``text_to_speech``, for models of the library."""

from __future__ import annotations

from mmeval.backend import Tool

text_to_speech = Tool(
    name="text_to_speech",
    makes="audio",
    about="Reads a text aloud: give the very words that are to be heard, and nothing "
    "else.",
    backend="hf",
)
"""A tool for ``--role text_to_speech=hf,pretrained=FOLDER``.

It needs a text-to-speech model such as VITS.
"""
