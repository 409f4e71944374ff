"""A loaded pipeline, which makes pixels from prompts and seeds."""

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
from mmeval.model_backends.diffusers.settings import Settings
from mmeval.model_backends.hf.checkpoint.loading import quietly
from mmeval.model_backends.hf.conversation.literals import Literals
from mmeval.model_backends.hf.failures import in_a_line
from mmeval.system import need
from mmeval.system.wording import listed

_SAFE_DTYPES = {"F16": "float16", "BF16": "bfloat16", "F32": "float32"}
_MAX_HEADER_BYTES = 100_000_000
_SMALLER = "memory does not suffice: give dtype=bfloat16, or a smaller pipeline"


@dataclass(frozen=True)
class GeneratedPicture:
    """One picture: an array (height, width, channels) of numbers from 0 to 1.
    ``blanked``: the pipeline's safety checker has painted it over."""

    pixels: Any  # a numpy array, which has no type here
    blanked: bool = False


@dataclass(frozen=True)
class Prompt:
    """The words for a pipeline, and warnings about them."""

    text: str
    warnings: tuple[str, ...] = ()


class Pipeline:
    """A pipeline, loaded on its device."""

    def __init__(
        self, folder: Path, settings: Settings, class_name: str, *, own_code: bool
    ) -> None:
        """Load the pipeline. Raises MissingExtraError without diffusers, UsageError for
        a pipeline that does not take words or a given argument, or cannot be put on the
        device, MissingDataError for files that cannot be loaded."""
        with _calmly():
            # No advice of the library: warnings about a prompt are in its response.
            diffusers = need("diffusers", "diffusers")
            diffusers.utils.logging.set_verbosity_error()
            diffusers.utils.logging.disable_progress_bar()
            if not own_code:
                kind = getattr(diffusers, class_name, None)
                if not inspect.isclass(kind):
                    raise UsageError(
                        f"pretrained={settings.pretrained}: diffusers "
                        f"{diffusers.__version__} knows no {class_name}; a newer one "
                        "may: pip install -U diffusers"
                    )
                known = call_parameters(kind, settings.pretrained)
                self._refuse_unknown(known, settings, class_name)
            self._pipe = _placed(_loaded(diffusers, folder, settings), settings)
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

    def unknown(self, how: Mapping[str, Any]) -> list[str]:
        """Arguments that the pipeline's call does not take."""
        return [name for name in how if name not in self._parameters]

    def read(self, words: str) -> Prompt:
        """The prompt for some words, with a warning where the library silently cuts
        it."""
        text, found = self._literals.neutral(words)
        warnings = []
        if found:
            shown = listed(found, 3)
            warnings.append(
                f"control tokens in the text were made plain words: {shown}"
            )
        bound = getattr(self._parameters.get("max_sequence_length"), "default", None)
        for name, tokenizer in self._tokenizers.items():
            limit = tokenizer.model_max_length
            if isinstance(bound, int):
                limit = min(limit, bound)
            count = len(tokenizer(text, verbose=False).input_ids)
            if count > limit:
                warnings.append(
                    f"the prompt has {count} tokens and the pipeline's {name} reads "
                    f"the first {limit}"
                )
        return Prompt(text, tuple(warnings))

    def draw(
        self, prompts: Sequence[Prompt], seeds: Sequence[int], how: Mapping[str, Any]
    ) -> Iterator[GeneratedPicture]:
        """Draw a picture for each prompt from its own seed. Random numbers come from
        the CPU, equal on every device; neighbours change only the last digits."""
        torch = need("torch", "diffusers")
        generators = [torch.Generator("cpu").manual_seed(seed) for seed in seeds]
        told = dict(how)
        if "negative_prompt" in told:
            told["negative_prompt"] = [told["negative_prompt"]] * len(prompts)
        scheduler: Any = getattr(self._pipe, "scheduler", None)
        if hasattr(scheduler, "noise_sampler_seed"):  # it does not use the generators
            scheduler.noise_sampler_seed = list(seeds)
        with _calmly(), torch.inference_mode():
            made = self._pipe(
                prompt=[prompt.text for prompt in prompts],
                generator=generators,
                output_type="np",
                **told,
            )
        if not hasattr(made, "images"):
            raise TypeError(
                f"a {type(self._pipe).__name__} gives {', '.join(made)} and no images"
            )
        blanked = getattr(made, "nsfw_content_detected", None) or [False] * len(prompts)
        return (
            GeneratedPicture(pixels, bool(blank))
            for pixels, blank in zip(made.images, blanked, strict=True)
        )

    def _survives(self, text: str, token: str) -> bool:
        """Whether one of the tokenizers still finds the control token in a text."""
        parts = self._tokenizers.values()
        for part in parts:
            ids = part(text, add_special_tokens=False).input_ids
            if part.convert_tokens_to_ids(token) in ids:
                return True
        return False

    @staticmethod
    def _refuse_unknown(
        parameters: Mapping[str, Any], settings: Settings, class_name: str
    ) -> None:
        left = sorted(settings.drawing.keys() - parameters.keys())
        if left:
            raise UsageError(
                f"pretrained={settings.pretrained}: a {class_name} takes no "
                f"{', '.join(left)}; leave it out of the "
                "arguments"
            )


@contextlib.contextmanager
def _calmly() -> Iterator[None]:
    """Switch off progress bars, and advice that the responses have as warnings."""
    need("torch", "diffusers")
    library = need("transformers", "diffusers").utils.logging
    level = library.get_verbosity()
    library.set_verbosity_error()
    try:
        with quietly():
            yield
    finally:
        library.set_verbosity(level)


def _loaded(
    diffusers: Any,
    folder: Path,
    settings: Settings,
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
    # the library raises many kinds over damaged or unknown files
    except (Exception, SystemExit) as error:
        fault = (
            f"pretrained={settings.pretrained}: the pipeline cannot be loaded "
            f"({in_a_line(error)})"
        )
        if is_out_of_memory(error):
            raise UsageError(f"{fault}; {_SMALLER}") from error
        raise MissingDataError(
            f"{fault}; fetch it again, or check the arguments"
        ) from error


def _placed(pipe: Any, settings: Settings) -> Any:
    import torch

    device = settings.device
    if not device and torch.cuda.is_available():
        device = "cuda"
    elif not device:
        device = "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        return pipe.to(device)
    except (AssertionError, MemoryError, RuntimeError, ValueError) as error:
        advice = "name another device, such as cpu"
        if is_out_of_memory(error):
            advice = _SMALLER
        raise UsageError(
            f"pretrained={settings.pretrained}: the pipeline cannot be put on "
            f"device={device} ({in_a_line(error)}); "
            f"{advice}"
        ) from error


def saved_dtype(folder: Path) -> str:
    """The dtype of the largest of the safe weights as saved; ``float32`` without
    any."""
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
    [(usual, _)] = kinds.most_common(1)
    return _SAFE_DTYPES.get(usual, "float32")
