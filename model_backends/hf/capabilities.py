"""Reads a model's input and output kinds, which the user may override."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from mmeval.backend import Capabilities
from mmeval.errors import UnknownNameError, UsageError
from mmeval.media import PART_KINDS, PartKind
from mmeval.model_backends.hf.checkpoint.files import ModelFiles
from mmeval.model_backends.hf.settings import HFSettings

_MEDIA: tuple[PartKind, ...] = ("image", "audio", "video")
_IN_CONFIG: Mapping[PartKind, tuple[str, ...]] = {
    "image": ("vision_config", "image_token_id", "image_token_index"),
    "audio": ("audio_config", "audio_token_id", "audio_token_index"),
    "video": ("vision_config", "video_token_id", "video_token_index"),
}
"""Keys of ``config.json`` that show which kinds a model reads.

They are at its top level or in an omni model's thinker.
"""
_VIDEO_TOKENS = ("video_token_id", "video_token_index")
_IN_PROCESSOR: Mapping[PartKind, tuple[str, ...]] = {
    "image": ("image_processor", "image_processor_type", "image_mean", "do_rescale"),
    "audio": ("feature_extractor", "feature_extractor_type", "audio_processor"),
    "video": ("video_processor", "video_processor_type"),
}
"""Keys of the processor's files that show which kinds it reads.

Old files may describe an image processor without stating its type.
"""
_PROCESSOR_FILES = (
    "processor_config.json",
    "preprocessor_config.json",
    "video_preprocessor_config.json",
)


def read_kinds(files: ModelFiles) -> tuple[PartKind, ...]:
    """Returns the media kinds that both the configuration and the processor state."""
    configs = [files.config, files.config.get("thinker_config", {})]
    processors = [files.json(name) for name in _PROCESSOR_FILES]
    kinds: list[PartKind] = []
    parts_named = False
    for kind in _MEDIA:
        parts_named = parts_named or _has_value(processors[:1], _IN_PROCESSOR[kind])
        is_processed = _has_value(processors, _IN_PROCESSOR[kind])
        if is_processed and _has_value(configs, _IN_CONFIG[kind]):
            kinds.append(kind)
    # older checkpoints describe pictures and videos in one file
    has_one_file = "image" in kinds and "video" not in kinds and not parts_named
    if has_one_file and _has_value(configs, _VIDEO_TOKENS):
        kinds.append("video")
    return tuple(kinds)


def _has_value(
    mappings: Sequence[Mapping[str, Any]],
    keys: Sequence[str],
) -> bool:
    """Returns True if one of the mappings has a value for one of the keys."""
    return any(mapping.get(key) is not None for mapping in mappings for key in keys)


def modalities(declared: object) -> tuple[str, ...]:
    """Converts the ``input_modalities`` of a class of the library to a tuple."""
    if declared is None:
        return ()
    if isinstance(declared, str):
        return (declared,)
    return tuple(map(str, cast("Iterable[object]", declared)))


def input_mismatch(kinds: Iterable[str], model: object) -> str:
    """Returns a warning if a loaded class and its files (``kinds``) differ in inputs.

    Returns an empty string if they are equal. The model's inputs are those in the
    files. Because the class needs torch, it is compared after loading, and a difference
    is only logged.
    """
    stated = modalities(getattr(model, "input_modalities", None))
    class_kinds = set(stated) & set(_MEDIA)
    if not class_kinds or class_kinds == set(kinds):
        return ""
    declared = "+".join(sorted(kinds)) or "text only"
    return (
        f"its class reads {'+'.join(sorted(class_kinds))}, but its files state "
        f"{declared}; the files apply unless inputs=... overrides them"
    )


def overridden(capabilities: Capabilities, settings: HFSettings) -> Capabilities:
    """Returns the capabilities with the user's ``inputs`` and ``outputs``, if given.

    Inputs may be any kinds. Outputs must be among the adapter's outputs or its
    declarable kinds, because the adapter cannot return other kinds. Raises
    UnknownNameError and UsageError.
    """
    result = capabilities
    if settings.inputs:
        inputs = list(_kinds("inputs", settings.inputs))
        result = replace(result, inputs=Capabilities.of(inputs, ["text"]).inputs)
    if settings.outputs:
        outputs = list(_kinds("outputs", settings.outputs))
        requested = Capabilities.of(["text"], outputs).outputs
        allowed = {*capabilities.outputs, *capabilities.declarable}
        unsupported = [kind for kind in requested if kind not in allowed]
        if unsupported:
            raise UsageError(
                f"outputs={settings.outputs}: this model's adapter returns "
                f"{'+'.join(capabilities.outputs)}, but never "
                f"{'+'.join(unsupported)}; leave out outputs, or name another adapter"
            )
        result = replace(result, outputs=requested)
    return result


def _kinds(argument: str, value: str) -> Iterator[str]:
    for name in value.split("+"):
        if name not in PART_KINDS:
            raise UnknownNameError(
                f"kind in {argument}",
                name,
                PART_KINDS,
                f"Known: {', '.join(PART_KINDS)}.",
            )
        yield name
