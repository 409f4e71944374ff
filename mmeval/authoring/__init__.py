"""Checks for authors of tasks, metrics and packages."""

from typing import TYPE_CHECKING

from mmeval.doors import door

if TYPE_CHECKING:
    from mmeval.authoring.task_checks import check

__all__ = ["check"]

__getattr__, __dir__ = door(__name__)
