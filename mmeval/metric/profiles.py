"""The profiles of metrics."""

from __future__ import annotations

from typing import Literal, get_args

Profile = Literal["standard", "official"]
"""``standard`` is the published definition with its defects fixed. ``official`` returns
the same numbers as the released script. If no script was released for a metric, both
profiles are the same."""

PROFILES: tuple[str, ...] = get_args(Profile)
