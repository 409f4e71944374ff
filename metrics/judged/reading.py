"""How judges' replies are read: robustly, or as a benchmark's own script does."""

from __future__ import annotations

from typing import Literal

Reading = Literal["robust", "official"]
"""How replies are read: ``robust`` refuses unfit replies, ``official`` reads as the release does, oddities included."""
Lost = Literal["unscored", "wrong"]
"""What a question without a usable reply does: the release counts it as answered wrongly. A question without any reply
(the judge failed or refused) is unscored in both cases."""
UNREADABLE = "unreadable"
"""The key of a vote whose official reply has nothing of what was asked for."""
