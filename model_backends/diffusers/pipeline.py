"""Loads a pipeline, and makes media from inputs and seeds."""

from __future__ import annotations

import contextlib
import json
import struct
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmeval.errors import (
    MissingDataError,
    MmevalError,
    UsageError,
    is_out_of_memory,
)
from mmeval.media import Media
from mmeval.model_backends.diffusers.inputs import Inputs, size_like
from mmeval.model_backends.diffusers.kinds import PipelineKind
from mmeval.model_backends.diffusers.networks import networks
from mmeval.model_backends.diffusers.settings import DiffusersSettings, parameter_of
from mmeval.model_backends.diffusers.signatures import Signature
from mmeval.model_backends.hf.checkpoint.loading import quietly
from mmeval.model_backends.hf.conversation.literals import Literals
from mmeval.model_backends.hf.failures import in_a_line
from mmeval.model_backends.hf.generation.media import to_film, to_picture, to_sound
from mmeval.model_backends.hf.generation.seeding import seeded
from mmeval.system import need
from mmeval.system.wording import listed

if TYPE_CHECKING:
    from PIL.Image import Image

_SAFE_DTYPES = {"F16": "float16", "BF16": "bfloat16", "F32": "float32"}
_MAX_HEADER_BYTES = 100_000_000
_SMALLER = "Memory is insufficient: set dtype=bfloat16, or use a smaller pipeline"


DEFAULT_FPS = 10
"""Frames a second if neither the request, the arguments nor the pipeline state them.

diffusers uses the same number when it writes a video.
"""
DEFAULT_PIXELS = 1024 * 1024
"""Maximum area of what is made from a picture, if the pipeline has no usual size."""
VIDEO_MULTIPLE = 32
"""Pixels. Some pipelines for videos refuse sizes that are not multiples of it."""
NOTICED_SECONDS = 0.05
"""A sound whose duration differs by more from the requested one gets a warning."""


@dataclass(frozen=True)
class Made:
    """What a pipeline made.

    ``medium`` is None if the pipeline's safety checker has blanked a picture.
    """

    medium: Media | None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prompt:
    """The text for a pipeline, and warnings about the text."""

    text: str
    warnings: tuple[str, ...] = ()


class Pipeline:
    """A pipeline that is loaded on its device."""

    def __init__(
        self,
        folder: Path,
        settings: DiffusersSettings,
        signature: Signature,
        kind: PipelineKind,
    ) -> None:
        """Loads the pipeline.

        Raises MissingExtraError if diffusers is not installed. Raises UsageError for a
        pipeline that does not fit the device, or that states no sampling rate for its
        sounds. Raises MissingDataError for files that cannot be loaded.
        """
        self._signature = signature
        self._kind = kind
        if kind.gives == "video":
            need("av", "video")
        with _without_messages():
            # The library's advice is switched off, since responses contain it.
            diffusers = need("diffusers", "diffusers")
            diffusers.utils.logging.set_verbosity_error()
            diffusers.utils.logging.disable_progress_bar()
            self._pipe = _on_device(_load(diffusers, folder, settings), settings)
        _check_cleaner(self._pipe, settings)
        parts = self._pipe.components.values()
        self._has_writer = any(hasattr(part, "generate") for part in parts)
        if kind.gives == "audio":
            self._sound_rate = sound_rate(self._pipe, settings.pretrained)
        self._tokenizers: dict[str, Any] = {}
        control: list[str] = []
        for name, part in self._pipe.components.items():
            if name.startswith("tokenizer") and part:
                self._tokenizers[name] = part
                control += part.all_special_tokens
        self._literals = Literals(control, survives=self._survives)

    @property
    def device(self) -> str:
        return str(self._pipe.device)

    def read(self, text: str) -> Prompt:
        """Returns the prompt for a text, and warnings.

        A warning reports that the library will silently truncate the text.
        """
        neutral_text, control_tokens = self._literals.neutral(text)
        notes = []
        if control_tokens:
            names = listed(control_tokens, 3)
            notes.append(
                f"control tokens in the text were turned into plain text: {names}"
            )
        max_length = self._signature.default("max_sequence_length")
        for name, tokenizer in self._tokenizers.items():
            limit = tokenizer.model_max_length
            if isinstance(max_length, int):
                limit = min(limit, max_length)
            count = len(tokenizer(neutral_text, verbose=False).input_ids)
            if count > limit:
                notes.append(
                    f"the prompt has {count} tokens, but the pipeline's {name} reads "
                    f"only the first {limit}"
                )
        return Prompt(neutral_text, tuple(notes))

    def make(self, inputs: Inputs, seed: int, arguments: Mapping[str, Any]) -> Made:
        """Makes one medium from the inputs of one request.

        The noise comes from the CPU, so it is the same on every device. Raises RowError
        for an output that is not a medium, and the library's ValueError for inputs that
        it refuses.
        """
        torch = need("torch", "diffusers")
        prompt = self.read(inputs.text)
        notes = list(prompt.warnings)
        call: dict[str, Any] = self._size(inputs, arguments)
        for name, value in arguments.items():
            parameter = parameter_of(name, self._signature)
            if parameter:
                call[parameter] = value
        if self._kind.takes_text:
            call["prompt"] = prompt.text
        if inputs.pictures:
            pictures = [self._fitted(picture) for picture in inputs.pictures]
            notes += _reduced(inputs.pictures, pictures)
            call |= self._picture_arguments(pictures, prompt.text)
        if "output_type" in self._signature.parameters:
            call["output_type"] = "np"
        scheduler: Any = getattr(self._pipe, "scheduler", None)
        # This type of scheduler ignores the generator.
        if hasattr(scheduler, "noise_sampler_seed"):
            scheduler.noise_sampler_seed = [seed]
        seeds: AbstractContextManager[None] = contextlib.nullcontext()
        if self._has_writer:
            # It may rewrite the prompt, and draws from the global generator.
            seeds = seeded(seed, self._pipe.device)
        with _without_messages(), torch.inference_mode(), seeds:
            output = self._pipe(
                generator=torch.Generator("cpu").manual_seed(seed), **call
            )
        return self._made(output, arguments, notes)

    def _picture_arguments(
        self, pictures: Sequence[Image], text: str
    ) -> dict[str, Any]:
        name = self._kind.picture_parameter
        if not self._kind.several_pictures:
            return {name: pictures[0]}
        if name != "input_images":
            return {name: list(pictures)}
        # OmniGen wants a mark for each picture in its prompt.
        marks = [
            f"<img><|image_{number}|></img>" for number in range(1, len(pictures) + 1)
        ]
        return {name: list(pictures), "prompt": " ".join([*marks, text])}

    @property
    def _takes_size(self) -> bool:
        return {"height", "width"} <= self._signature.parameters

    def _size(self, inputs: Inputs, arguments: Mapping[str, Any]) -> dict[str, int]:
        """Returns the size of the first picture, unless a size is requested."""
        is_given = "width" in arguments or "height" in arguments
        if is_given or not inputs.pictures or not self._takes_size:
            return {}
        width, height = self._size_like(inputs.pictures[0])
        return {"width": width, "height": height}

    def _fitted(self, picture: Image) -> Image:
        """Returns a smaller picture if the pipeline would work in its large size."""
        is_small = picture.width * picture.height <= DEFAULT_PIXELS
        if self._takes_size or is_small:
            return picture
        return picture.resize(self._size_like(picture))

    def _size_like(self, picture: Image) -> tuple[int, int]:
        height = self._signature.default("height")
        width = self._signature.default("width")
        most_pixels = DEFAULT_PIXELS
        if isinstance(height, int) and isinstance(width, int):
            most_pixels = height * width
        multiple = 2 * self._pixels_per_latent()
        if self._kind.gives == "video":
            multiple = max(multiple, VIDEO_MULTIPLE)
        return size_like(picture, most_pixels=most_pixels, multiple=multiple)

    def _pixels_per_latent(self) -> int:
        for name in (
            "vae_scale_factor_spatial",
            "vae_spatial_compression_ratio",
            "vae_scale_factor",
        ):
            factor = getattr(self._pipe, name, None)
            if isinstance(factor, int):
                return factor
        return 8

    def _made(
        self, output: Any, arguments: Mapping[str, Any], notes: Sequence[str]
    ) -> Made:
        """Returns the medium, with a warning if it is not as ``arguments`` requested.

        ``notes`` are the warnings until now.
        """
        if self._kind.gives == "audio":
            samples = _field(output, ("audios",))[0]
            notes = [*notes, *other_duration(samples, self._sound_rate, arguments)]
            return Made(self._sound(samples), tuple(notes))
        if self._kind.gives == "video":
            frames = _field(output, ("frames",))[0]
            fps = arguments.get("fps") or self._usual_fps()
            notes = [
                *notes,
                *_other_size(frames.shape[1:3], arguments),
                *_other_length(len(frames), arguments),
            ]
            return Made(to_film(frames, fps, "0..1"), tuple(notes))
        pixels = _field(output, ("images", "image"))[0]
        if any(getattr(output, "nsfw_content_detected", None) or ()):
            return Made(None, tuple(notes))
        notes = [*notes, *_other_size(pixels.shape[:2], arguments)]
        return Made(to_picture(pixels, "0..1"), tuple(notes))

    def _sound(self, samples: Any) -> Media:
        # (samples,) or (channels, samples)
        channels = samples.shape[0] if samples.ndim == 2 else 1
        return to_sound(samples, self._sound_rate, channels)

    def _usual_fps(self) -> int:
        usual = self._signature.default(parameter_of("fps", self._signature))
        return round(usual) if isinstance(usual, int | float) else DEFAULT_FPS

    def _survives(self, text: str, token: str) -> bool:
        """Returns True if a tokenizer still finds the control token in a text."""
        parts = self._tokenizers.values()
        for part in parts:
            ids = part(text, add_special_tokens=False).input_ids
            if part.convert_tokens_to_ids(token) in ids:
                return True
        return False


def _field(output: Any, names: Sequence[str]) -> Any:
    for name in names:
        if hasattr(output, name):
            return getattr(output, name)
    raise TypeError(f"the pipeline returns {', '.join(output)}, not {names[0]}")


def _other_size(size: Sequence[int], arguments: Mapping[str, Any]) -> list[str]:
    """Returns a list with a warning if the pipeline has rounded the size."""
    height, width = size
    requested = f"{arguments.get('width', width)}x{arguments.get('height', height)}"
    if f"{width}x{height}" == requested:
        return []
    return [f"the pipeline made {width}x{height} pixels, not {requested}"]


def _other_length(count: int, arguments: Mapping[str, Any]) -> list[str]:
    """Returns a list with a warning if the pipeline has rounded the frames."""
    requested = arguments.get("num_frames", count)
    if count == requested:
        return []
    return [f"the pipeline made {count} frames, not {requested}"]


def other_duration(samples: Any, rate: int, arguments: Mapping[str, Any]) -> list[str]:
    """Returns a list with a warning if the pipeline has made another duration."""
    seconds = samples.shape[-1] / rate
    requested = arguments.get("seconds", seconds)
    if abs(seconds - requested) <= NOTICED_SECONDS:
        return []
    return [f"the pipeline made {seconds:.1f} seconds, not {requested:g}"]


def _reduced(given: Sequence[Image], fitted: Sequence[Image]) -> list[str]:
    """Returns a warning for each picture that was reduced."""
    notes = []
    for before, after in zip(given, fitted, strict=True):
        if after.size != before.size:
            notes.append(
                f"a picture of {before.width}x{before.height} pixels was reduced to "
                f"{after.width}x{after.height}"
            )
    return notes


@contextlib.contextmanager
def _without_messages() -> Iterator[None]:
    """Switches off the library's progress bars and advice.

    The responses contain the advice as warnings.
    """
    need("torch", "diffusers")
    library = need("transformers", "diffusers").utils.logging
    level = library.get_verbosity()
    library.set_verbosity_error()
    try:
        with quietly(), warnings.catch_warnings():
            # Advice to the library's authors, such as on torch's older functions.
            for category in (DeprecationWarning, FutureWarning):
                warnings.simplefilter("ignore", category)
            yield
    finally:
        library.set_verbosity(level)


def _load(
    diffusers: Any,
    folder: Path,
    settings: DiffusersSettings,
) -> Any:
    import torch

    try:
        dtype = saved_dtype(folder) if settings.dtype == "auto" else settings.dtype
        pipe = diffusers.DiffusionPipeline.from_pretrained(
            folder,
            dtype=getattr(torch, dtype),
            local_files_only=True,
            trust_remote_code=settings.trust_remote_code,
            **networks(folder, getattr(torch, dtype), settings.pretrained),
        )
        pipe.set_progress_bar_config(disable=True)
        return pipe
    except MmevalError:
        raise
    # Broad, since the library raises many types of errors for damaged files.
    except (Exception, SystemExit) as error:
        fault = (
            f"pretrained={settings.pretrained}: the pipeline cannot be loaded "
            f"({in_a_line(error)})"
        )
        if is_out_of_memory(error):
            raise UsageError(f"{fault}. {_SMALLER}") from error
        raise MissingDataError(
            f"{fault}. Fetch it again, or check the arguments"
        ) from error


def _on_device(pipe: Any, settings: DiffusersSettings) -> Any:
    import torch

    device = settings.device
    if not device and torch.cuda.is_available():
        device = "cuda"
    elif not device:
        device = "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        return pipe.to(device)
    except (AssertionError, MemoryError, RuntimeError, ValueError) as error:
        advice = "Use another device, such as cpu"
        if is_out_of_memory(error):
            advice = _SMALLER
        raise UsageError(
            f"pretrained={settings.pretrained}: the pipeline cannot be moved to "
            f"device={device} ({in_a_line(error)}). {advice}"
        ) from error


def sound_rate(pipe: Any, pretrained: str) -> int:
    """Returns the sampling rate in Hz. Raises UsageError if it is missing."""
    for part in ("vocoder", "vae"):
        config = getattr(getattr(pipe, part, None), "config", None)
        for name in ("sampling_rate", "sample_rate"):
            rate = getattr(config, name, None)
            if rate:
                return int(rate)
    raise UsageError(
        f"pretrained={pretrained}: the pipeline does not state the sampling "
        "rate of its sounds (sampling_rate of its vocoder or vae). Fetch it again, or "
        "choose another one"
    )


def _check_cleaner(pipe: Any, settings: DiffusersSettings) -> None:
    """Raises UsageError if the pipeline's cleaning of prompts lacks a package.

    Some pipelines fail at their first prompt without ftfy, which diffusers does not
    install.
    """
    module = sys.modules.get(type(pipe).__module__)
    cleaner = getattr(module, "prompt_clean", None)
    if cleaner is None:
        return
    try:
        cleaner("a prompt")
    except NameError as error:
        raise UsageError(
            f"pretrained={settings.pretrained}: a {type(pipe).__name__} needs the "
            f"package {error.name}. Install it: pip install {error.name}"
        ) from None


def saved_dtype(folder: Path) -> str:
    """Returns the dtype of the largest safetensors file, or ``float32`` without one."""
    files = list(folder.glob("*/*.safetensors"))
    if not files:
        return "float32"
    largest = max(files, key=lambda path: path.stat().st_size)
    with largest.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(min(length, _MAX_HEADER_BYTES)))
    header.pop("__metadata__", None)
    kinds = Counter(tensor["dtype"] for tensor in header.values())
    if not kinds:
        return "float32"
    [(most_common, _)] = kinds.most_common(1)
    return _SAFE_DTYPES.get(most_common, "float32")
