"""Loads a model's processor and weights from its files, or raises one clear error."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Iterator, Mapping
from typing import Any

from mmeval.errors import (
    MissingDataError,
    MissingError,
    MmevalError,
    UsageError,
    is_out_of_memory,
)
from mmeval.metric import damaged_files, gaps
from mmeval.model_backends.hf.checkpoint.files import ModelFiles
from mmeval.model_backends.hf.checkpoint.videoless import processor_without_video
from mmeval.model_backends.hf.failures import in_a_line
from mmeval.model_backends.hf.settings import Settings
from mmeval.system import need

TORCHVISION = "torchvision"
_PARTS: Mapping[str, tuple[str, ...]] = {
    "image": ("image_processor",),
    "audio": ("feature_extractor", "audio_processor"),
    "video": ("video_processor",),
}


def load_processor(files: ModelFiles, settings: Settings) -> Any:
    """Load the model's processor, or for a text model its tokenizer.

    Padding is on the left, and there is a token to pad with. Without torchvision, a
    processor with a part for videos is loaded without this part.
    ``settings.chat_template`` replaces the model's own template. ``Any``: each model's
    processor is a class of its own.

    Raises UsageError for files that cannot be used, MissingError for packages to
    install.
    """
    need("torch", "hf")
    transformers = need("transformers", "hf")
    if not without_torchvision():
        # a broken one would break every processor
        try:
            importlib.import_module(TORCHVISION)
        except (AttributeError, ImportError, OSError, RuntimeError) as error:
            raise UsageError(
                "torchvision is installed but cannot be imported "
                f"({in_a_line(error)}); install the one for this torch, or uninstall "
                "it (pictures and sounds work without it, videos do not)"
            ) from None
    with loading(files, "its processor", settings), quietly():
        processor = _processor(transformers, files, settings)
    tokenizer = tokenizer_of(processor)
    if not hasattr(tokenizer, "padding_side"):
        raise UsageError(
            f"{files.folder}: there is no tokenizer; a chat model needs one "
            "(tokenizer.json), fetch it again"
        )
    tokenizer.padding_side = "left"
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    if settings.chat_template:
        processor.chat_template = tokenizer.chat_template = settings.chat_template
    return processor


def load_weights(
    files: ModelFiles,
    settings: Settings,
    model_class: Any = None,
) -> Any:
    """Load the model on its device, in its dtype and in evaluation mode.
    ``model_class`` is a class of the library with ``from_pretrained``; without it the
    general ones are tried.

    Raises MissingDataError for missing or truncated weights, UsageError for a model or
    a setting that cannot work here, MissingError for packages to install. ``Any``: each
    model is a class of its own.
    """
    need("torch", "hf")
    need("transformers", "hf")
    if settings.deterministic:
        ask_for_same_digits()
    with loading(files, "its weights", settings), quietly():
        chosen = model_class or general_class(files, settings)
        given: dict[str, Any] = {}
        if settings.attn_implementation:
            given["attn_implementation"] = settings.attn_implementation
        model, told = chosen.from_pretrained(
            files.folder,
            dtype=settings.dtype,
            device_map=settings.device or settings.device_map,
            trust_remote_code=settings.trust_remote_code,
            local_files_only=True,
            # unfit weights are reported by name and refused here, since the library's
            # own message has no names
            output_loading_info=True,
            ignore_mismatched_sizes=True,
            **given,
        )
    # The library would fill missing weights with random numbers.
    lacking = gaps(told)
    if lacking:
        raise MissingDataError(
            f"{files.name}: {lacking}; fetch the model again, or look whether its "
            "config.json belongs to these weights"
        )
    return model.eval()


def tokenizer_of(processor: Any) -> Any:
    """The tokenizer of a processor, which may be a tokenizer itself."""
    return getattr(processor, "tokenizer", processor)


def part_for(processor: Any, kind: str) -> Any:
    """The part of a processor for one kind of media; None where it ignores that
    kind."""
    for name in _PARTS[kind]:
        part = getattr(processor, name, None)
        if part is not None:
            return part
    return None


def without_torchvision() -> bool:
    """Whether torchvision, which reads videos, is missing here. Imports nothing."""
    return importlib.util.find_spec(TORCHVISION) is None


def general_class(files: ModelFiles, settings: Settings) -> Any:
    """The automatic class for this type of model, if possible not one of text alone.
    Some that take sounds (Audio Flamingo 3) are known by the last class only."""
    import transformers

    config = transformers.AutoConfig.from_pretrained(
        files.folder,
        trust_remote_code=settings.trust_remote_code,
        local_files_only=True,
    )
    own: Mapping[str, str] = getattr(config, "auto_map", None) or {}
    usual = transformers.AutoModelForCausalLM
    kinds = (
        transformers.AutoModelForMultimodalLM,
        usual,
        transformers.AutoModelForSeq2SeqLM,
    )
    for kind in kinds:
        if type(config) in kind._model_mapping or kind.__name__ in own:
            return kind
    return usual


def ask_for_same_digits() -> None:
    """Make torch use only deterministic algorithms."""
    import torch

    # cuBLAS needs it, and reads it at its first use
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False


@contextlib.contextmanager
def loading(
    files: ModelFiles,
    what: str,
    settings: Settings,
) -> Iterator[None]:
    """Turn each error of the library's loading into one message with how to fix it."""
    try:
        yield
    except MmevalError:
        raise
    # the library raises many kinds over damaged or unknown files
    except (Exception, SystemExit) as error:
        kind, how_to_fix = _how_to_fix(files, settings, error)
        raise kind(
            f"{files.name}: {what} cannot be loaded ({in_a_line(error)}); {how_to_fix}"
        ) from error


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Switch off the library's progress bars, since the run has its own."""
    from transformers.utils import logging as library

    shown = library.is_progress_bar_enabled()
    library.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            library.enable_progress_bar()


def _processor(
    transformers: Any,
    files: ModelFiles,
    settings: Settings,
) -> Any:
    given = {"trust_remote_code": settings.trust_remote_code, "local_files_only": True}
    try:
        return transformers.AutoProcessor.from_pretrained(files.folder, **given)
    except ImportError as error:
        if not (without_torchvision() and TORCHVISION in str(error).lower()):
            raise
        return processor_without_video(files, given)
    except ValueError as error:
        if "Unrecognized processing class" not in str(error):
            raise
        # its error names the reason
        return transformers.AutoTokenizer.from_pretrained(files.folder, **given)


_DAMAGED = (
    "safetensor",
    "pytorchstreamreader",
    "no file named",
    "the backend tokenizer",
)
"""Words of the library about files that are missing or cut short."""


def _how_to_fix(
    files: ModelFiles, settings: Settings, error: BaseException
) -> tuple[type[MmevalError], str]:
    """The kind of a failure of the library, and how to fix it."""
    said = f"{type(error).__name__}: {error}".lower()
    device = settings.device or settings.device_map
    model_type = files.json("config.json").get("model_type")
    kind: type[MmevalError] = UsageError
    how_to_fix = "look at the model's files, or name another adapter or dtype"
    is_damaged = any(words in said for words in _DAMAGED)
    if is_out_of_memory(error):
        how_to_fix = (
            "memory does not suffice: give dtype=bfloat16, device_map=auto, or a "
            "smaller model"
        )
    elif isinstance(error, ImportError):
        kind = MissingError
        how_to_fix = "install the package that is missing, then run again"
    elif "trust_remote_code" in said:
        how_to_fix = (
            "it brings code of its own: read it, then give trust_remote_code=true to "
            "run it"
        )
    elif "does not recognize this architecture" in said:
        how_to_fix = (
            f"this transformers does not know the type {model_type!r}: upgrade it"
        )
    elif "unrecognized configuration class" in said:
        how_to_fix = (
            f"for the type {model_type!r} the library has no such class: give another "
            "model, or name another adapter"
        )
    elif is_damaged or isinstance(error, EOFError | OSError):
        kind = MissingDataError
        how_to_fix = "fetch the model again"
        damaged = ", ".join(map(str, damaged_files(files.folder)))
        if damaged:
            how_to_fix += f": {damaged} is damaged or cut short"
    elif device != "auto" and device.partition(":")[0] in said:
        how_to_fix = f"this machine has no device {device!r}: name another, such as cpu"
    return kind, how_to_fix
