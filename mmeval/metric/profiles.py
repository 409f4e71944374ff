"""The profiles of metrics: the published or the official definition."""

from __future__ import annotations

from typing import Literal, get_args

Profile = Literal["standard", "official"]
"""``standard``: the published definition, its defects mended; ``official``: the
released script to the digit. Every metric has both; one without an official definition
has the same in both."""

PROFILES: tuple[str, ...] = get_args(Profile)
