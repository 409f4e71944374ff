"""The tool ``text_to_image``, for pipelines."""

from __future__ import annotations

from mmeval.backend import Tool

text_to_image = Tool(
    name="text_to_image",
    makes="image",
    about="Draws one picture from a description in plain words; it sees the "
    "description and nothing else.",
    backend="diffusers",
)
"""A tool for ``--role text_to_image=diffusers,pretrained=PATH``."""
