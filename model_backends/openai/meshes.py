"""The endpoint ``meshes`` of SGLang: a job creates a 3D model from a picture."""

from __future__ import annotations

import json
from typing import Any

from mmeval.media import Part
from mmeval.model_backends.openai.images import prompt_of
from mmeval.model_backends.openai.settings import OpenAISettings
from mmeval.model_backends.openai.videos import FileJobEndpoint, answer_of
from mmeval.model_backends.wire.failures import CallError
from mmeval.model_backends.wire.media import data_uri
from mmeval.model_backends.wire.replies.links import Links
from mmeval.model_backends.wire.transport import HttpReply, HttpRequest
from mmeval.model_backends.wire.user_fields import merged
from mmeval.records import Request, Response

MESHES = "meshes"


class MeshesEndpoint(FileJobEndpoint):
    """Encodes requests for ``meshes``, and decodes the results of its jobs.

    A seed is sent only with ``send_seed=true``.
    """

    path = MESHES

    def __init__(self, settings: OpenAISettings) -> None:
        self._settings = settings

    def encode(self, request: Request) -> HttpRequest:
        """Encodes a request.

        Raises CallError if the input is not text with one picture.
        """
        settings = self._settings
        prompt, images = prompt_of(request, MESHES)
        if len(images) != 1:
            raise CallError(
                "unsupported",
                f"a request for a 3D model must contain 1 picture, not {len(images)}",
            )
        part = Part("image", media=images[0])
        fields: dict[str, Any] = {
            "model": settings.model,
            "prompt": prompt,
            "input_image": json.loads(data_uri(part, settings.formats)),
            "output_format": "glb",
        }
        if settings.seed_all:
            fields["seed"] = request.seed
        return HttpRequest(
            MESHES, json.dumps(merged(fields, settings.extra_body)).encode()
        )

    def decode(
        self, http_reply: HttpReply, request: Request, links: Links | None = None
    ) -> Response:
        """Returns the 3D model of a job.

        Raises CallError ``bad_reply`` if there is no 3D model.
        """
        del links  # unused, because the result is the model itself
        return answer_of(http_reply, "3d", request)
