"""The backend ``diffusers``: answers each text-to-image request with one picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mmeval.backend import Capabilities
from mmeval.errors import UsageError, is_out_of_memory
from mmeval.media import Interleaved, media_part
from mmeval.model_backends.diffusers.kinds import has_own_code, pipeline_class
from mmeval.model_backends.diffusers.pipeline import GeneratedPicture, Pipeline, Prompt
from mmeval.model_backends.diffusers.settings import OPTIONS, DiffusersSettings, drawing
from mmeval.model_backends.hf.checkpoint.devices import check_device, release_memory
from mmeval.model_backends.hf.checkpoint.files import PIPELINE_INDEX, find_files
from mmeval.model_backends.hf.failures import RowError, in_a_line
from mmeval.model_backends.hf.generation.media import to_picture
from mmeval.model_backends.hf.settings import (
    accelerated,
    checked_device,
    checked_dtype,
    versions,
)
from mmeval.records import Request, Response

BATCH_ON_ACCELERATOR, BATCH_ON_CPU = 8, 4
"""Default number of pictures in a batch.

The number is halved when memory runs out.
"""
MOST_PICTURES = 256
_TEXT_PARAMETERS = ("max_tokens", "temperature", "top_p", "top_k", "stop")


class DiffusersBackend:
    """A text-to-image pipeline of diffusers that runs on this machine.

    The pipeline draws one picture for each request. ``pretrained`` is a folder with a
    ``model_index.json`` or a name on the Hugging Face hub. ``revision`` is a commit,
    tag or branch on the hub. ``dtype`` is the type of the weights (``auto``: as saved).
    ``device`` is the device on which the pipeline runs (by default, the machine's best
    device). ``trust_remote_code`` allows code that comes with the pipeline. ``steps``,
    ``size`` (such as ``1024x768``), ``guidance_scale`` and ``negative_prompt`` are
    defaults for requests. Without them, the pipeline's own defaults are used.

    Raises MissingDataError for a missing pipeline, and UsageError for a pipeline of
    another kind and for invalid arguments.
    """

    def __init__(
        self,
        *,
        pretrained: str,
        revision: str = "main",
        dtype: str = "auto",
        device: str = "",
        trust_remote_code: bool = False,
        steps: int | None = None,
        size: str = "",
        guidance_scale: float | None = None,
        negative_prompt: str = "",
    ) -> None:
        options = {
            "image.steps": steps,
            "image.size": size or None,
            "image.guidance_scale": guidance_scale,
            "image.negative_prompt": negative_prompt or None,
        }
        given_options = {
            name: value for name, value in options.items() if value is not None
        }
        try:
            defaults = drawing(given_options)
        except ValueError as error:
            raise UsageError(str(error).removeprefix("image.")) from None
        self.settings = DiffusersSettings(
            pretrained=pretrained,
            revision=revision or "main",
            dtype=checked_dtype(dtype),
            device=checked_device(device),
            trust_remote_code=trust_remote_code,
            drawing=defaults,
        )
        self.files = find_files(
            pretrained, self.settings.revision, index=PIPELINE_INDEX
        )
        index = self.files.json(PIPELINE_INDEX)
        self._class_name = pipeline_class(index, pretrained)
        self._has_own_code = has_own_code(index)
        if self._has_own_code and not trust_remote_code:
            raise UsageError(
                f"pretrained={pretrained}: the pipeline comes with its own code. Read "
                "the code, then set trust_remote_code=true to run it"
            )
        self._pipeline: Pipeline | None = None

    @property
    def capabilities(self) -> Capabilities:
        capabilities = Capabilities.of(("text",), ("image",), "single")
        return replace(capabilities, options=frozenset(OPTIONS))

    @property
    def identity(self) -> Mapping[str, Any]:
        identity: dict[str, Any] = {
            "backend": "diffusers",
            "model": self.files.name,
            "weights": self.files.fingerprint,
            "pipeline": self._class_name,
            "dtype": self.settings.dtype,
        }
        if self.settings.drawing:
            identity["drawing"] = dict(self.settings.drawing)
        return identity

    @property
    def provenance(self) -> Mapping[str, Any]:
        device = self.settings.device
        if self._pipeline is not None:
            device = self._pipeline.device
        return {
            **versions("torch", "diffusers", "transformers"),
            "device": device or "auto",
        }

    @property
    def max_batch_size(self) -> int:
        return MOST_PICTURES

    @property
    def usual_batch_size(self) -> int:
        return (
            BATCH_ON_ACCELERATOR if accelerated(self.settings.device) else BATCH_ON_CPU
        )

    def start(self) -> None:
        """Fetches missing files and loads the pipeline.

        Raises MissingError or UsageError if the pipeline cannot be loaded.
        """
        check_device(self.settings.device)
        self.files.fetch_weights()
        self._pipeline = Pipeline(
            self.files.folder,
            self.settings,
            self._class_name,
            has_own_code=self._has_own_code,
        )

    def generate_batch(
        self, requests: Sequence[Request]
    ) -> Iterator[tuple[int, Response]]:
        """Yields one picture for each request. All requests have the same ``params``.

        An out-of-memory error is raised unchanged.
        """
        assert self._pipeline is not None, "the core always calls start() first"
        positions: list[int] = []
        prompts: list[Prompt] = []
        for position, request in enumerate(requests):
            try:
                prompts.append(self._prompt(request))
                positions.append(position)
            except RowError as error:
                yield position, error.response
        if not positions:
            return
        requested = drawing(requests[0].params.options)
        arguments = {**self.settings.drawing, **requested}
        seeds = [requests[position].seed for position in positions]
        try:
            pictures = self._pipeline.draw(prompts, seeds, arguments)
        except (MemoryError, RuntimeError, ValueError) as error:
            if is_out_of_memory(error):
                release_memory(error)
            elif isinstance(error, ValueError) and len(prompts) == 1:
                # In a batch, the core repeats the requests one by one.
                refusal = f"the pipeline refuses the request ({in_a_line(error)})"
                yield positions[0], Response.failed("bad_request", refusal)
                return
            raise
        for position, prompt, picture in zip(positions, prompts, pictures, strict=True):
            warnings = [*unused(requests[position]), *prompt.warnings]
            yield (
                position,
                _response(picture, [*warnings, *resized(picture, arguments)]),
            )

    async def close(self) -> None:
        self._pipeline = None

    def _prompt(self, request: Request) -> Prompt:
        """Returns the prompt of a request.

        Raises RowError if the pipeline does not support the request.
        """
        assert self._pipeline is not None
        try:
            arguments = drawing(request.params.options)
        except ValueError as error:
            raise RowError("bad_request", str(error)) from None
        unknown = self._pipeline.unknown(arguments)
        if unknown:
            raise RowError(
                "unsupported",
                f"a {self._class_name} does not take {', '.join(unknown)}",
            )
        gaps = self.capabilities.missing(request)
        if gaps:
            raise RowError("unsupported", f"a text-to-image pipeline {'; '.join(gaps)}")
        text = prompt_of(request)
        if not text:
            raise RowError(
                "bad_request",
                "the request has no text from which to draw a picture",
            )
        return self._pipeline.read(text)


def prompt_of(request: Request) -> str:
    """Joins the texts of all messages in order.

    Lone surrogates are removed, since tokenizers cannot read them.
    """
    texts = [message.content.text.strip() for message in request.messages]
    text = "\n\n".join(filter(None, texts))
    return text.encode("utf-8", "replace").decode()


def unused(request: Request) -> list[str]:
    """Returns warnings about parameters that text-to-image pipelines do not use."""
    params = request.params
    names = [
        name for name in _TEXT_PARAMETERS if getattr(params, name) not in (None, ())
    ]
    if not names:
        return []
    return [f"a text-to-image pipeline does not use {', '.join(names)}"]


def resized(picture: GeneratedPicture, arguments: Mapping[str, Any]) -> list[str]:
    """Returns a list with a warning if the pipeline has rounded the requested size."""
    height, width = picture.pixels.shape[:2]
    actual_size = f"{width}x{height}"
    requested_size = (
        f"{arguments.get('width', width)}x{arguments.get('height', height)}"
    )
    if actual_size == requested_size:
        return []
    return [f"the pipeline drew {actual_size} pixels, not {requested_size}"]


def _response(generated: GeneratedPicture, warnings: Sequence[str]) -> Response:
    if generated.blanked:
        warning = (
            "the pipeline's safety checker blanked the picture; it is left out of the "
            "answer"
        )
        return Response(
            Interleaved(()), finish_reason="refused", warnings=(*warnings, warning)
        )
    try:
        picture = to_picture(generated.pixels, span="0..1")
    except RowError as error:
        return error.response
    return Response(Interleaved((media_part(picture),)), warnings=tuple(warnings))
