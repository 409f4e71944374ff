"""The adapter for GLM-Image, which refuses the half of it that draws nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mmeval.backend import Capabilities
from mmeval.errors import UsageError
from mmeval.model_backends.hf.adapter import Adapter
from mmeval.records import Request, Response


class GlmImageAdapter(Adapter):
    """Refuses a GLM-Image model without its decoder.

    The library's model writes the codes of a picture. The network that turns codes into
    pixels is another part of the same pipeline, which only diffusers runs.
    """

    @property
    def capabilities(self) -> Capabilities:
        raise UsageError(
            f"{self.files.name}: this model writes the codes of a picture, but cannot "
            "draw it; run the whole pipeline, a folder with a model_index.json of "
            "GlmImagePipeline, with --model diffusers"
        )

    def load(self) -> None:
        """Does nothing, because ``capabilities`` has refused the model."""

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        del requests
        return iter(())
