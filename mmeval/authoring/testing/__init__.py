"""Conformance checks of batch backends, and judges with known faults, for tests."""

from typing import TYPE_CHECKING

from mmeval.doors import door

if TYPE_CHECKING:
    from mmeval.authoring.testing.checks import check_backend
    from mmeval.authoring.testing.planted import PlantedJudge

__all__ = ["PlantedJudge", "check_backend"]

__getattr__, __dir__ = door(__name__)
