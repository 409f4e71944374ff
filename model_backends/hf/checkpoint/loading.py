"""Loads a model's processor and weights, and reports each failure as one error."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import threading
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
from mmeval.model_backends.hf.settings import HFSettings
from mmeval.system import need

ONE_AT_A_TIME = threading.Lock()
"""Held while a model is loaded.

The libraries change settings of the whole process meanwhile, so that models which load
in two threads, such as the tools of an agent, would miss weights.
"""
TORCHVISION = "torchvision"
_PARTS: Mapping[str, tuple[str, ...]] = {
    "image": ("image_processor",),
    "audio": ("feature_extractor", "audio_processor"),
    "video": ("video_processor",),
}


def load_processor(files: ModelFiles, settings: HFSettings) -> Any:
    """Loads the model's processor, or a text model's tokenizer.

    Padding is on the left, and a padding token is set. Without torchvision, a processor
    is loaded without its video part. ``settings.chat_template`` replaces the model's
    template. The result is ``Any``, because each model has its own class.

    Raises UsageError for unusable files, and MissingError for missing packages.
    """
    need("torch", "hf")
    transformers = need("transformers", "hf")
    if not without_torchvision():
        # a broken torchvision would break every processor
        try:
            importlib.import_module(TORCHVISION)
        except (AttributeError, ImportError, OSError, RuntimeError) as error:
            raise UsageError(
                "torchvision is installed but cannot be imported "
                f"({in_a_line(error)}); install the version for this torch, or "
                "uninstall it (only videos need it)"
            ) from None
    with loading(files, "its processor", settings), quietly():
        processor = _processor(transformers, files, settings)
    tokenizer = tokenizer_of(processor)
    if not hasattr(tokenizer, "padding_side"):
        raise UsageError(
            f"{files.folder}: the tokenizer of the chat model is missing "
            "(tokenizer.json); fetch the model again"
        )
    tokenizer.padding_side = "left"
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    if settings.chat_template:
        processor.chat_template = tokenizer.chat_template = settings.chat_template
    return processor


def load_weights(
    files: ModelFiles,
    settings: HFSettings,
    model_class: Any = None,
) -> Any:
    """Loads the model on its device, in its dtype and in evaluation mode.

    ``model_class`` is a class of the library with ``from_pretrained``. Without
    ``model_class``, one of the library's automatic classes is chosen. The result is
    ``Any``, because each model has its own class.

    Raises MissingDataError for missing or truncated weights, UsageError for an
    unsupported model or setting, and MissingError for missing packages.
    """
    need("torch", "hf")
    need("transformers", "hf")
    if settings.deterministic:
        use_deterministic_algorithms()
    with loading(files, "its weights", settings), quietly():
        chosen = model_class or general_class(files, settings)
        options: dict[str, Any] = {}
        if settings.attn_implementation:
            options["attn_implementation"] = settings.attn_implementation
        model, loading_info = chosen.from_pretrained(
            files.folder,
            dtype=settings.dtype,
            device_map=settings.device or settings.device_map,
            trust_remote_code=settings.trust_remote_code,
            local_files_only=True,
            # the library's message does not name missing and mismatched weights, so
            # they are reported below
            output_loading_info=True,
            ignore_mismatched_sizes=True,
            **options,
        )
    # the library fills missing weights with random numbers
    missing = gaps(loading_info)
    if missing:
        raise MissingDataError(
            f"{files.name}: {missing}; fetch the model again, or check that its "
            "config.json belongs to these weights"
        )
    return model.eval()


def tokenizer_of(processor: Any) -> Any:
    """Returns the tokenizer of a processor, which may be a tokenizer itself."""
    return getattr(processor, "tokenizer", processor)


def part_for(processor: Any, kind: str) -> Any:
    """Returns the part of a processor for one kind of media, or None without one."""
    for name in _PARTS[kind]:
        part = getattr(processor, name, None)
        if part is not None:
            return part
    return None


def without_torchvision() -> bool:
    """Returns True if torchvision, which reads videos, is not installed.

    Does not import torchvision.
    """
    return importlib.util.find_spec(TORCHVISION) is None


def general_class(files: ModelFiles, settings: HFSettings) -> Any:
    """Returns the library's automatic class for this type of model.

    Multimodal classes come first. Some models with sound input (Audio Flamingo 3) are
    registered only with the sequence-to-sequence class.
    """
    import transformers

    config = transformers.AutoConfig.from_pretrained(
        files.folder,
        trust_remote_code=settings.trust_remote_code,
        local_files_only=True,
    )
    auto_map: Mapping[str, str] = getattr(config, "auto_map", None) or {}
    causal = transformers.AutoModelForCausalLM
    classes = (
        transformers.AutoModelForMultimodalLM,
        causal,
        transformers.AutoModelForSeq2SeqLM,
    )
    for auto_class in classes:
        if type(config) in auto_class._model_mapping or auto_class.__name__ in auto_map:
            return auto_class
    return causal


def use_deterministic_algorithms() -> None:
    """Makes torch use only deterministic algorithms."""
    import torch

    # cuBLAS needs this variable, and reads it at its first use
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False


@contextlib.contextmanager
def loading(
    files: ModelFiles,
    what: str,
    settings: HFSettings,
) -> Iterator[None]:
    """Converts any error during loading to one message that states a fix."""
    try:
        yield
    except MmevalError:
        raise
    # the library raises many types of errors for damaged or unknown files
    except (Exception, SystemExit) as error:
        kind, how_to_fix = _how_to_fix(files, settings, error)
        raise kind(
            f"{files.name}: cannot load {what} ({in_a_line(error)}); {how_to_fix}"
        ) from error


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Turns off the library's progress bars, because the run shows its own."""
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
    settings: HFSettings,
) -> Any:
    options = {
        "trust_remote_code": settings.trust_remote_code,
        "local_files_only": True,
    }
    try:
        return transformers.AutoProcessor.from_pretrained(files.folder, **options)
    except ImportError as error:
        if not (without_torchvision() and TORCHVISION in str(error).lower()):
            raise
        return processor_without_video(files, options)
    except ValueError as error:
        if "Unrecognized processing class" not in str(error):
            raise
        # loading only the tokenizer raises an error with the actual reason
        return transformers.AutoTokenizer.from_pretrained(files.folder, **options)


_DAMAGED = (
    "safetensor",
    "pytorchstreamreader",
    "no file named",
    "the backend tokenizer",
)
"""Words in the library's errors about missing or truncated files."""


def _how_to_fix(
    files: ModelFiles, settings: HFSettings, error: BaseException
) -> tuple[type[MmevalError], str]:
    """Returns the error type for a failure of the library, and how to fix it."""
    message = f"{type(error).__name__}: {error}".lower()
    device = settings.device or settings.device_map
    model_type = files.json("config.json").get("model_type")
    error_type: type[MmevalError] = UsageError
    how_to_fix = "check the model's files, or name another adapter or dtype"
    is_damaged = any(words in message for words in _DAMAGED)
    if is_out_of_memory(error):
        how_to_fix = (
            "memory is insufficient: set dtype=bfloat16 or device_map=auto, or use a "
            "smaller model"
        )
    elif isinstance(error, ImportError):
        error_type = MissingError
        how_to_fix = "install the missing package, then run again"
    elif "trust_remote_code" in message:
        how_to_fix = (
            "the model comes with its own code: read the code, then set "
            "trust_remote_code=true to run it"
        )
    elif "does not recognize this architecture" in message:
        how_to_fix = (
            f"this version of transformers does not know the type {model_type!r}: "
            "upgrade transformers"
        )
    elif "unrecognized configuration class" in message:
        how_to_fix = (
            f"the library has no suitable class for the type {model_type!r}: name "
            "another model or another adapter"
        )
    elif is_damaged or isinstance(error, EOFError | OSError):
        error_type = MissingDataError
        how_to_fix = "fetch the model again"
        damaged = ", ".join(map(str, damaged_files(files.folder)))
        if damaged:
            how_to_fix += f": {damaged} is damaged or truncated"
    elif device != "auto" and device.partition(":")[0] in message:
        how_to_fix = f"this machine has no device {device!r}: name another, such as cpu"
    return error_type, how_to_fix
