"""Conformance checks of batch backends, to call from a test."""

from typing import TYPE_CHECKING

from mmeval.doors import door

if TYPE_CHECKING:
    from mmeval.authoring.testing.checks import check_backend

__all__ = ["check_backend"]

__getattr__, __dir__ = door(__name__)
