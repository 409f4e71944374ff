"""The upper bound: the answer to every sample is its own first reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmeval.backend import Capabilities
from mmeval.media import PART_KINDS, Interleaved
from mmeval.records import Request, Response, Sample


class ReferenceBackend:
    """Answers with the reference, which a correct metric gives the best value.
    Takes and gives everything.

    When a request wants only some of the kinds, as each pass of ``independent_passes``
    does, it is answered with the reference's parts of these kinds. A sample without a
    reference gets an ``unsupported`` error, so that it is counted apart instead of
    being scored as a bad answer.
    """

    capabilities = Capabilities.of(PART_KINDS, PART_KINDS, "interleaved")

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"backend": "reference"}

    @property
    def provenance(self) -> Mapping[str, Any]:
        return {}

    def answer(
        self,
        task: str,
        sample: Sample,
        repeat: int,  # noqa: ARG002
        request: Request,
    ) -> Response:
        if not sample.references:
            return Response.failed(
                "unsupported",
                f"{task}: sample {sample.id!r} has no reference; choose another "
                "--model for this task",
            )
        answer = sample.references[0]
        parts = tuple(part for part in answer.parts if part.kind in request.wants)
        # one of which nothing would be left out stays as it is
        if len(parts) < len(answer.parts):
            answer = Interleaved(parts)
        return Response(output=answer)

    async def close(self) -> None:
        """Nothing is held open."""
