"""The backend ``diffusers``: answers each request with one picture, video or sound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mmeval.backend import Capabilities
from mmeval.errors import UsageError, is_out_of_memory
from mmeval.media import Interleaved, media_part
from mmeval.model_backends.diffusers.inputs import inputs_of
from mmeval.model_backends.diffusers.kinds import (
    fitting,
    kind_of,
    own_code_of,
    pipeline_class,
)
from mmeval.model_backends.diffusers.pipeline import Made, Pipeline
from mmeval.model_backends.diffusers.settings import (
    DiffusersSettings,
    checked_arguments,
    idle_guidance,
    is_taken,
    options_of,
    requested_arguments,
)
from mmeval.model_backends.diffusers.signatures import signature_of
from mmeval.model_backends.hf.checkpoint.devices import check_device, release_memory
from mmeval.model_backends.hf.checkpoint.files import PIPELINE_INDEX, find_files
from mmeval.model_backends.hf.checkpoint.loading import ONE_AT_A_TIME
from mmeval.model_backends.hf.failures import RowError, in_a_line
from mmeval.model_backends.hf.options import unused_text_parameters
from mmeval.model_backends.hf.settings import (
    checked_device,
    checked_dtype,
    versions,
)
from mmeval.records import Request, Response

USUAL_BATCH = 4
"""Requests that the core sends together. They are answered one after another."""
MOST_IN_A_BATCH = 256


class DiffusersBackend:
    """A pipeline of diffusers that runs on this machine.

    The pipeline makes one picture, video or sound for each request. ``pretrained`` is a
    folder with a ``model_index.json`` or a name on the Hugging Face hub. ``revision``
    is a commit, tag or branch on the hub. ``dtype`` is the type of the weights
    (``auto``: as saved). ``device`` is the device on which the pipeline runs (by
    default, the machine's best device). ``trust_remote_code`` allows code that comes
    with the pipeline. The other arguments are defaults for requests, and have the names
    that diffusers uses. Without them, the pipeline's own defaults are used.

    Raises MissingDataError for a missing pipeline, and UsageError for a pipeline that
    cannot answer requests and for invalid arguments.
    """

    def __init__(
        self,
        *,
        pretrained: str,
        revision: str = "main",
        dtype: str = "auto",
        device: str = "",
        trust_remote_code: bool = False,
        num_inference_steps: int | None = None,
        guidance_scale: float | None = None,
        true_cfg_scale: float | None = None,
        negative_prompt: str | None = None,
        height: int | None = None,
        width: int | None = None,
        num_frames: int | None = None,
        fps: int | None = None,
        strength: float | None = None,
    ) -> None:
        try:
            arguments = checked_arguments(
                {
                    "num_inference_steps": num_inference_steps,
                    "guidance_scale": guidance_scale,
                    "true_cfg_scale": true_cfg_scale,
                    "negative_prompt": negative_prompt,
                    "height": height,
                    "width": width,
                    "num_frames": num_frames,
                    "fps": fps,
                    "strength": strength,
                }
            )
        except ValueError as error:
            raise UsageError(str(error)) from None
        self.settings = DiffusersSettings(
            pretrained=pretrained,
            revision=revision or "main",
            dtype=checked_dtype(dtype),
            device=checked_device(device),
            trust_remote_code=trust_remote_code,
            arguments=arguments,
        )
        self.files = find_files(
            pretrained, self.settings.revision, index=PIPELINE_INDEX
        )
        index = self.files.json(PIPELINE_INDEX)
        self._class_name = pipeline_class(index, pretrained)
        own_code = own_code_of(index, self.files.folder)
        if own_code is not None and not trust_remote_code:
            raise UsageError(
                f"pretrained={pretrained}: the pipeline comes with its own code. Read "
                "the code, then set trust_remote_code=true to run it"
            )
        self._signature = signature_of(self._class_name, own_code, pretrained)
        self.kind = kind_of(self._signature, pretrained)
        self._refuse_unknown(arguments)
        self._pipeline: Pipeline | None = None

    @property
    def capabilities(self) -> Capabilities:
        capabilities = Capabilities.of(self.kind.takes, (self.kind.gives,), "single")
        inputs = dict(capabilities.inputs)
        if "image" in inputs and not self.kind.several_pictures:
            inputs["image"] = replace(inputs["image"], max_items=1)
        if self.kind.pictures == "required":
            inputs["image"] = replace(inputs["image"], min_items=1)
        options = options_of(self._signature, self.kind.gives)
        return replace(capabilities, inputs=inputs, options=options)

    @property
    def identity(self) -> Mapping[str, Any]:
        identity: dict[str, Any] = {
            "backend": "diffusers",
            "model": self.files.name,
            "weights": self.files.fingerprint,
            "pipeline": self._class_name,
            "dtype": self.settings.dtype,
        }
        if self.settings.arguments:
            identity["arguments"] = dict(self.settings.arguments)
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
        return MOST_IN_A_BATCH

    @property
    def usual_batch_size(self) -> int:
        return USUAL_BATCH

    def start(self) -> None:
        """Fetches missing files and loads the pipeline.

        Raises MissingError or UsageError if the pipeline cannot be loaded.
        """
        check_device(self.settings.device)
        self.files.fetch_weights()
        with ONE_AT_A_TIME:
            self._pipeline = Pipeline(
                self.files.folder, self.settings, self._signature, self.kind
            )

    def generate_batch(
        self, requests: Sequence[Request]
    ) -> Iterator[tuple[int, Response]]:
        """Yields one answer for each request.

        The pipeline runs once for each request: in a common call, other requests would
        change the last digits of an answer, and so its bytes. An out-of-memory error is
        raised unchanged.
        """
        for position, request in enumerate(requests):
            try:
                yield position, self._answer(request)
            except RowError as error:
                yield position, error.response

    async def close(self) -> None:
        self._pipeline = None

    def _answer(self, request: Request) -> Response:
        assert self._pipeline is not None, "the core always calls start() first"
        arguments = self._arguments(request)
        gaps = self.capabilities.missing(request)
        if gaps:
            raise RowError("unsupported", self._gaps(request, gaps))
        inputs = inputs_of(request, self.kind)
        try:
            made = self._pipeline.make(inputs, request.seed, arguments)
        except (MemoryError, RuntimeError, ValueError) as error:
            if is_out_of_memory(error):
                release_memory(error)
            elif isinstance(error, ValueError):
                refusal = f"the pipeline refuses the request ({in_a_line(error)})"
                raise RowError("bad_request", refusal) from None
            raise
        unused = unused_text_parameters(request.params, "a pipeline of diffusers")
        warnings = [*unused, *idle_guidance(arguments, self._signature)]
        return _response(made, warnings)

    def _arguments(self, request: Request) -> dict[str, Any]:
        try:
            requested = requested_arguments(request.params.options)
        except ValueError as error:
            raise RowError("bad_request", str(error)) from None
        unknown = self.capabilities.unknown_options(request.params)
        if unknown:
            raise RowError(
                "unsupported",
                f"a {self._class_name} does not take {', '.join(unknown)}",
            )
        return {**self.settings.arguments, **requested}

    def _gaps(self, request: Request, gaps: Sequence[str]) -> str:
        """Returns why the pipeline cannot answer, and which pipeline can."""
        text = f"a {self._class_name} {'; '.join(gaps)}"
        has_picture = "image" in request.kinds()
        wanted = [kind for kind in request.wants if kind in ("image", "video", "audio")]
        can_be_made = len(request.wants) == 1 and bool(wanted)
        if can_be_made and request.kinds() <= {"text", "code", "reasoning", "image"}:
            text += f". {fitting(wanted[0], with_picture=has_picture)}"
        return text

    def _refuse_unknown(self, arguments: Mapping[str, Any]) -> None:
        unknown = []
        for name in arguments:
            if not is_taken(name, self._signature, self.kind.gives):
                unknown.append(name)
        if unknown:
            raise UsageError(
                f"pretrained={self.settings.pretrained}: a {self._class_name} does not "
                f"use {', '.join(unknown)}. Leave it out of the arguments"
            )


def _response(made: Made, warnings: Sequence[str]) -> Response:
    if made.medium is None:
        warning = (
            "the pipeline's safety checker blanked the picture; it is left out of the "
            "answer"
        )
        return Response(
            Interleaved(()),
            finish_reason="refused",
            warnings=(*warnings, *made.warnings, warning),
        )
    return Response(
        Interleaved((media_part(made.medium),)), warnings=(*warnings, *made.warnings)
    )
