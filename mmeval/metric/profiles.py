"""The profiles of metrics: the published definition, or the official script."""

from __future__ import annotations

from typing import Literal, get_args

Profile = Literal["standard", "official"]
"""``standard``: the published definition with its defects fixed. ``official``: the same
numbers as the released script. A metric without a script is the same in both."""

PROFILES: tuple[str, ...] = get_args(Profile)
