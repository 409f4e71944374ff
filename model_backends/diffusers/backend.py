"""The backend: text-to-image requests, answered with one picture each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mmeval.backend import Capabilities
from mmeval.errors import UsageError, is_out_of_memory
from mmeval.media import Interleaved, media_part
from mmeval.model_backends.diffusers.kinds import own_code, pipeline_class
from mmeval.model_backends.diffusers.pipeline import GeneratedPicture, Pipeline, Prompt
from mmeval.model_backends.diffusers.settings import OPTIONS, Settings, drawing
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
"""Pictures of a batch unless the user sets a size; halved when memory runs out."""
MOST_PICTURES = 256
_OF_WORDS = ("max_tokens", "temperature", "top_p", "top_k", "stop")


class DiffusersBackend:
    """A text-to-image pipeline of diffusers on this machine: one picture a request.

    ``pretrained`` is a folder with a ``model_index.json`` or a name of the Hugging Face
    hub, ``revision`` a commit, tag or branch there. ``dtype`` is that of the weights
    (``auto``: as they were saved), ``device`` where they run (else the best of the
    machine). ``trust_remote_code`` runs code that comes with the pipeline. ``steps``,
    ``size`` (``1024x768``), ``guidance_scale`` and ``negative_prompt`` hold unless a
    request says otherwise, and are the pipeline's own where they are not given.

    Raises MissingDataError for a missing pipeline, UsageError for one of another kind
    and for invalid arguments.
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
        given = {name: value for name, value in options.items() if value is not None}
        try:
            how = drawing(given)
        except ValueError as error:
            raise UsageError(str(error).removeprefix("image.")) from None
        self.settings = Settings(
            pretrained=pretrained,
            revision=revision or "main",
            dtype=checked_dtype(dtype),
            device=checked_device(device),
            trust_remote_code=trust_remote_code,
            drawing=how,
        )
        self.files = find_files(
            pretrained, self.settings.revision, index=PIPELINE_INDEX
        )
        index = self.files.json(PIPELINE_INDEX)
        self._class_name = pipeline_class(index, pretrained)
        self._own_code = own_code(index)
        if self._own_code and not trust_remote_code:
            raise UsageError(
                f"pretrained={pretrained}: the pipeline comes with code of its own; "
                "read it, then allow it to run with "
                "trust_remote_code=true"
            )
        self._pipeline: Pipeline | None = None

    @property
    def capabilities(self) -> Capabilities:
        own = Capabilities.of(("text",), ("image",), "single")
        return replace(own, options=frozenset(OPTIONS))

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
        """Fetch missing files, and load the pipeline. Raises MissingError or
        UsageError."""
        check_device(self.settings.device)
        self.files.fetch_weights()
        self._pipeline = Pipeline(
            self.files.folder, self.settings, self._class_name, own_code=self._own_code
        )

    def generate_batch(
        self, requests: Sequence[Request]
    ) -> Iterator[tuple[int, Response]]:
        """One picture for each of some requests with equal ``params``.
        Memory that runs out is raised as it is."""
        assert self._pipeline is not None, "the core always calls start() first"
        asked: list[int] = []
        prompts: list[Prompt] = []
        for position, request in enumerate(requests):
            try:
                prompts.append(self._prompt(request))
                asked.append(position)
            except RowError as error:
                yield position, error.response
        if not asked:
            return
        asked_for = drawing(requests[0].params.options)
        how = {**self.settings.drawing, **asked_for}
        seeds = [requests[position].seed for position in asked]
        try:
            made = self._pipeline.draw(prompts, seeds, how)
        except (MemoryError, RuntimeError, ValueError) as error:
            if is_out_of_memory(error):
                release_memory(error)
            elif isinstance(error, ValueError) and len(prompts) == 1:
                # one that is refused in a batch is asked again alone
                refusal = f"the pipeline refuses the request ({in_a_line(error)})"
                yield asked[0], Response.failed("bad_request", refusal)
                return
            raise
        for position, prompt, drawn in zip(asked, prompts, made, strict=True):
            warnings = [*unused(requests[position]), *prompt.warnings]
            yield position, _response(drawn, [*warnings, *resized(drawn, how)])

    async def close(self) -> None:
        self._pipeline = None

    def _prompt(self, request: Request) -> Prompt:
        """The prompt of a request. Raises RowError where the pipeline cannot take
        it."""
        assert self._pipeline is not None
        try:
            how = drawing(request.params.options)
        except ValueError as error:
            raise RowError("bad_request", str(error)) from None
        unknown = self._pipeline.unknown(how)
        if unknown:
            raise RowError(
                "unsupported", f"a {self._class_name} takes no {', '.join(unknown)}"
            )
        gaps = self.capabilities.missing(request)
        if gaps:
            raise RowError("unsupported", f"a text-to-image pipeline {'; '.join(gaps)}")
        words = prompt_of(request)
        if not words:
            raise RowError(
                "bad_request",
                "there are no words in the request to draw a picture from",
            )
        return self._pipeline.read(words)


def prompt_of(request: Request) -> str:
    """All messages' words in order, less lone surrogates, which no tokenizer can
    read."""
    texts = [message.content.text.strip() for message in request.messages]
    words = "\n\n".join(filter(None, texts))
    return words.encode("utf-8", "replace").decode()


def unused(request: Request) -> list[str]:
    """Warnings for parts of a request that no pipeline uses."""
    params = request.params
    names = [name for name in _OF_WORDS if getattr(params, name) not in (None, ())]
    if not names:
        return []
    return [f"a text-to-image pipeline has no use for {', '.join(names)}"]


def resized(drawn: GeneratedPicture, how: Mapping[str, Any]) -> list[str]:
    """A warning if a pipeline has silently rounded the requested size."""
    height, width = drawn.pixels.shape[:2]
    drawn_size = f"{width}x{height}"
    asked_size = f"{how.get('width', width)}x{how.get('height', height)}"
    if drawn_size == asked_size:
        return []
    return [f"the pipeline drew {drawn_size} pixels, not {asked_size}"]


def _response(drawn: GeneratedPicture, warnings: Sequence[str]) -> Response:
    if drawn.blanked:
        said = (
            "the pipeline's safety checker found the picture unfit and blanked it; it "
            "is left out"
        )
        return Response(
            Interleaved(()), finish_reason="refused", warnings=(*warnings, said)
        )
    try:
        picture = to_picture(drawn.pixels, span="0..1")
    except RowError as error:
        return error.response
    return Response(Interleaved((media_part(picture),)), warnings=tuple(warnings))
