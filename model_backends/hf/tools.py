"""The tool ``text_to_speech``, provided by models of the library."""

from __future__ import annotations

from mmeval.backend import Tool

text_to_speech = Tool(
    name="text_to_speech",
    makes="audio",
    about="Reads a text aloud: give the very words that are to be heard, and nothing "
    "else.",
    backend="hf",
)
"""Played by ``--role text_to_speech=hf,pretrained=FOLDER``, with a model that turns
text into speech, such as VITS."""
