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
    _refuse_broken_torchvision()
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


def load_weights(files: ModelFiles, settings: Settings, model_class: Any = None) -> Any:
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
        model, told = chosen.from_pretrained(files.folder, **_placed(settings), **_TOLD)
    # The library would fill missing weights with random numbers.
    if found := gaps(told):
        raise MissingDataError(
            f"{files.name}: {found}; fetch the model again, or look whether its "
            "config.json belongs to these weights"
        )
    return model.eval()


def tokenizer_of(processor: Any) -> Any:
    """The tokenizer of a processor, which may be a tokenizer itself."""
    return getattr(processor, "tokenizer", processor)


def part_for(processor: Any, kind: str) -> Any:
    """The part of a processor for one kind of media; None where it ignores that
    kind."""
    return next(
        (
            part
            for name in _PARTS[kind]
            if (part := getattr(processor, name, None)) is not None
        ),
        None,
    )


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
    return next(
        (
            kind
            for kind in kinds
            if type(config) in kind._model_mapping or kind.__name__ in own
        ),
        usual,
    )


def ask_for_same_digits() -> None:
    """Make torch use only deterministic algorithms."""
    import torch

    # cuBLAS needs it, and reads it at its first use
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False


@contextlib.contextmanager
def loading(files: ModelFiles, what: str, settings: Settings) -> Iterator[None]:
    """Turn each error of the library's loading into one message with how to fix it."""
    try:
        yield
    except MmevalError:
        raise
    # the library raises many kinds over damaged or unknown files
    except Exception as error:
        raise _explained(files, what, settings, error) from error


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


def _processor(transformers: Any, files: ModelFiles, settings: Settings) -> Any:
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


def _refuse_broken_torchvision() -> None:
    """Raises UsageError for a broken torchvision, which would break every processor."""
    if without_torchvision():
        return
    try:
        importlib.import_module(TORCHVISION)
    except (AttributeError, ImportError, OSError, RuntimeError) as error:
        raise UsageError(
            f"torchvision is installed but cannot be imported ({in_a_line(error)}); "
            "install the one for this torch, or "
            "uninstall it (pictures and sounds work without it, videos do not)"
        ) from None


def _placed(settings: Settings) -> dict[str, Any]:
    """The arguments of ``from_pretrained`` from the user's settings."""
    given: dict[str, Any] = {
        "dtype": settings.dtype,
        "device_map": settings.device or settings.device_map,
        "trust_remote_code": settings.trust_remote_code,
        "local_files_only": True,
    }
    if settings.attn_implementation:
        given["attn_implementation"] = settings.attn_implementation
    return given


_TOLD: Mapping[str, Any] = {
    "output_loading_info": True,
    "ignore_mismatched_sizes": True,
}
"""Unfit weights are reported by name and refused here, since the library's own message
has no names."""


_DAMAGED = (
    "safetensor",
    "pytorchstreamreader",
    "no file named",
    "the backend tokenizer",
)
"""Words of the library about files that are missing or cut short."""


def _explained(
    files: ModelFiles, what: str, settings: Settings, error: BaseException
) -> MmevalError:
    kind, how_to_fix = _how_to_fix(
        files, settings, error, f"{type(error).__name__}: {error}".lower()
    )
    return kind(
        f"{files.name}: {what} cannot be loaded ({in_a_line(error)}); {how_to_fix}"
    )


def _fetch_again(files: ModelFiles) -> str:
    damaged = ", ".join(str(path) for path in damaged_files(files.folder))
    return (
        "fetch the model "
        f"again{f': {damaged} is damaged or cut short' if damaged else ''}"
    )


def _how_to_fix(
    files: ModelFiles, settings: Settings, error: BaseException, said: str
) -> tuple[type[MmevalError], str]:
    """The kind of a failure, and how to fix it.
    ``said`` is the library's message in small letters."""
    device = settings.device or settings.device_map
    model_type = files.json("config.json").get("model_type")
    ways: tuple[tuple[bool, type[MmevalError], str], ...] = (
        (
            is_out_of_memory(error),
            UsageError,
            "memory does not suffice: give dtype=bfloat16, device_map=auto, or a "
            "smaller model",
        ),
        (
            isinstance(error, ImportError),
            MissingError,
            "install the package that is missing, then run again",
        ),
        (
            "trust_remote_code" in said,
            UsageError,
            "it brings code of its own: read it, then give trust_remote_code=true to "
            "run it",
        ),
        (
            "does not recognize this architecture" in said,
            UsageError,
            f"this transformers does not know the type {model_type!r}: upgrade it",
        ),
        (
            "unrecognized configuration class" in said,
            UsageError,
            f"for the type {model_type!r} the library has no such class: give another "
            "model, or name another adapter",
        ),
        (
            any(one in said for one in _DAMAGED)
            or isinstance(error, EOFError | OSError),
            MissingDataError,
            _fetch_again(files),
        ),
        (
            device != "auto" and device.partition(":")[0] in said,
            UsageError,
            f"this machine has no device {device!r}: name another, such as cpu",
        ),
    )
    found = ((kind, way) for holds, kind, way in ways if holds)
    return next(
        found,
        (UsageError, "look at the model's files, or name another adapter or dtype"),
    )
