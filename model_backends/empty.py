"""The lower bound: an empty answer to every request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmeval.backend import Capabilities
from mmeval.media import PART_KINDS, Interleaved
from mmeval.records import Request, Response, Sample


class EmptyBackend:
    """Answers every request with an empty answer, to measure its score.

    The backend accepts and returns all kinds.
    """

    capabilities = Capabilities.of(PART_KINDS, PART_KINDS, "interleaved")

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"backend": "empty"}

    @property
    def provenance(self) -> Mapping[str, Any]:
        return {}

    def answer(
        self,
        task: str,  # noqa: ARG002
        sample: Sample,  # noqa: ARG002
        repeat: int,  # noqa: ARG002
        request: Request,  # noqa: ARG002
    ) -> Response:
        return Response(output=Interleaved())

    async def close(self) -> None:
        """Does nothing, since no resource is open."""
