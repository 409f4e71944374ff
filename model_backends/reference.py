"""The upper bound: the answer to every sample is the sample's first reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmeval.backend import Capabilities
from mmeval.media import PART_KINDS, Interleaved
from mmeval.records import Request, Response, Sample


class ReferenceBackend:
    """Answers with the first reference, which a correct metric scores highest.

    The backend accepts and returns all kinds. A request for only some kinds, as in each
    pass of ``independent_passes``, is answered with the reference's parts of these
    kinds. A sample without a reference gets an ``unsupported`` error, so the sample is
    unscored and is not treated as a bad answer.
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
                f"{task}: sample {sample.id!r} has no reference. Choose another "
                "--model for this task",
            )
        answer = sample.references[0]
        parts = tuple(part for part in answer.parts if part.kind in request.wants)
        # If no part is left out, the same object is returned.
        if len(parts) < len(answer.parts):
            answer = Interleaved(parts)
        return Response(output=answer)

    async def close(self) -> None:
        """Does nothing, since no resource is open."""
