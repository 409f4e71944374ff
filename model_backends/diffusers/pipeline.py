"""Loads a pipeline, and draws pictures from prompts and seeds."""

from __future__ import annotations

import contextlib
import inspect
import json
import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmeval.errors import (
    MissingDataError,
    MmevalError,
    UsageError,
    is_out_of_memory,
)
from mmeval.model_backends.diffusers.kinds import call_parameters
from mmeval.model_backends.diffusers.networks import networks
from mmeval.model_backends.diffusers.settings import DiffusersSettings
from mmeval.model_backends.hf.checkpoint.loading import quietly
from mmeval.model_backends.hf.conversation.literals import Literals
from mmeval.model_backends.hf.failures import in_a_line
from mmeval.system import need
from mmeval.system.wording import listed

_SAFE_DTYPES = {"F16": "float16", "BF16": "bfloat16", "F32": "float32"}
_MAX_HEADER_BYTES = 100_000_000
_SMALLER = "Memory is insufficient: set dtype=bfloat16, or use a smaller pipeline"


@dataclass(frozen=True)
class GeneratedPicture:
    """A picture as a numpy array (height, width, channels) of values from 0 to 1.

    ``blanked`` is True if the pipeline's safety checker has blanked the picture.
    """

    pixels: Any
    blanked: bool = False


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
        class_name: str,
        *,
        has_own_code: bool,
    ) -> None:
        """Loads the pipeline.

        Raises MissingExtraError if diffusers is not installed. Raises UsageError for a
        pipeline that does not accept text or a given argument, or does not fit the
        device. Raises MissingDataError for files that cannot be loaded.
        """
        with _without_messages():
            # The library's advice is switched off, since responses contain it.
            diffusers = need("diffusers", "diffusers")
            diffusers.utils.logging.set_verbosity_error()
            diffusers.utils.logging.disable_progress_bar()
            if not has_own_code:
                kind = getattr(diffusers, class_name, None)
                if not inspect.isclass(kind):
                    raise UsageError(
                        f"pretrained={settings.pretrained}: diffusers "
                        f"{diffusers.__version__} has no {class_name}. Try a newer "
                        "version: pip install -U diffusers"
                    )
                parameters = call_parameters(kind, settings.pretrained)
                self._refuse_unknown(parameters, settings, class_name)
            self._pipe = _on_device(_load(diffusers, folder, settings), settings)
        self._parameters = call_parameters(self._pipe, settings.pretrained)
        self._refuse_unknown(self._parameters, settings, class_name)
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

    def unknown(self, arguments: Mapping[str, Any]) -> list[str]:
        """Returns the arguments that the pipeline's call does not take."""
        return [name for name in arguments if name not in self._parameters]

    def read(self, text: str) -> Prompt:
        """Returns the prompt for a text, and warnings.

        A warning reports that the library will silently truncate the text.
        """
        neutral_text, control_tokens = self._literals.neutral(text)
        warnings = []
        if control_tokens:
            names = listed(control_tokens, 3)
            warnings.append(
                f"control tokens in the text were turned into plain text: {names}"
            )
        max_length = getattr(
            self._parameters.get("max_sequence_length"), "default", None
        )
        for name, tokenizer in self._tokenizers.items():
            limit = tokenizer.model_max_length
            if isinstance(max_length, int):
                limit = min(limit, max_length)
            count = len(tokenizer(neutral_text, verbose=False).input_ids)
            if count > limit:
                warnings.append(
                    f"the prompt has {count} tokens, but the pipeline's {name} reads "
                    f"only the first {limit}"
                )
        return Prompt(neutral_text, tuple(warnings))

    def draw(
        self,
        prompts: Sequence[Prompt],
        seeds: Sequence[int],
        arguments: Mapping[str, Any],
    ) -> Iterator[GeneratedPicture]:
        """Draws a picture for each prompt, each with its own seed.

        Random numbers come from the CPU, so they are the same on every device. The
        other pictures in a batch affect only the last digits of a picture's values.
        """
        torch = need("torch", "diffusers")
        generators = [torch.Generator("cpu").manual_seed(seed) for seed in seeds]
        call_arguments = dict(arguments)
        if "negative_prompt" in call_arguments:
            call_arguments["negative_prompt"] = [
                call_arguments["negative_prompt"]
            ] * len(prompts)
        scheduler: Any = getattr(self._pipe, "scheduler", None)
        # This type of scheduler ignores the generators.
        if hasattr(scheduler, "noise_sampler_seed"):
            scheduler.noise_sampler_seed = list(seeds)
        with _without_messages(), torch.inference_mode():
            output = self._pipe(
                prompt=[prompt.text for prompt in prompts],
                generator=generators,
                output_type="np",
                **call_arguments,
            )
        if not hasattr(output, "images"):
            raise TypeError(
                f"a {type(self._pipe).__name__} returns {', '.join(output)}, not images"
            )
        blanked = getattr(output, "nsfw_content_detected", None) or [False] * len(
            prompts
        )
        return (
            GeneratedPicture(pixels, bool(blank))
            for pixels, blank in zip(output.images, blanked, strict=True)
        )

    def _survives(self, text: str, token: str) -> bool:
        """Returns True if a tokenizer still finds the control token in a text."""
        parts = self._tokenizers.values()
        for part in parts:
            ids = part(text, add_special_tokens=False).input_ids
            if part.convert_tokens_to_ids(token) in ids:
                return True
        return False

    @staticmethod
    def _refuse_unknown(
        parameters: Mapping[str, Any], settings: DiffusersSettings, class_name: str
    ) -> None:
        unknown = sorted(settings.drawing.keys() - parameters.keys())
        if unknown:
            raise UsageError(
                f"pretrained={settings.pretrained}: a {class_name} does not accept "
                f"{', '.join(unknown)}. Leave it out of the arguments"
            )


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
        with quietly():
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
