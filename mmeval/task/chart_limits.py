"""The limits of charts, which a task's layout and the page of a run share.

They have a module of their own, because importing the types of layout files takes as
long as importing numpy.
"""

from __future__ import annotations

RADAR_CORNERS = (3, 16)
"""The smallest and largest number of corners of a radar chart. With fewer corners it
would be a line, and with more the labels would overlap."""
