"""What a model takes and gives: from its small files, or as the user overrules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from mmeval.backend import Capabilities
from mmeval.errors import UnknownNameError, UsageError
from mmeval.media import PART_KINDS, PartKind
from mmeval.model_backends.hf.checkpoint.files import ModelFiles
from mmeval.model_backends.hf.settings import Settings

_MEDIA: tuple[PartKind, ...] = ("image", "audio", "video")
_IN_CONFIG: Mapping[PartKind, tuple[str, ...]] = {
    "image": ("vision_config", "image_token_id", "image_token_index"),
    "audio": ("audio_config", "audio_token_id", "audio_token_index"),
    "video": ("vision_config", "video_token_id", "video_token_index"),
}
"""Keys of ``config.json``, at its top or in the reading part of an omni model."""
_VIDEO_TOKENS = ("video_token_id", "video_token_index")
_IN_PROCESSOR: Mapping[PartKind, tuple[str, ...]] = {
    "image": ("image_processor", "image_processor_type", "image_mean", "do_rescale"),
    "audio": ("feature_extractor", "feature_extractor_type", "audio_processor"),
    "video": ("video_processor", "video_processor_type"),
}
"""Keys of the processor's files; old ones may describe an image processor without
naming its type."""
_PROCESSOR_FILES = (
    "processor_config.json",
    "preprocessor_config.json",
    "video_preprocessor_config.json",
)


def read_kinds(files: ModelFiles) -> tuple[PartKind, ...]:
    """The kinds of media that a model reads, by both its configuration and
    processor."""
    configs = [files.config, files.config.get("thinker_config", {})]
    processors = [files.json(name) for name in _PROCESSOR_FILES]
    found: list[PartKind] = []
    parts_named = False
    for kind in _MEDIA:
        parts_named = parts_named or _names(processors[:1], _IN_PROCESSOR[kind])
        is_processed = _names(processors, _IN_PROCESSOR[kind])
        if is_processed and _names(configs, _IN_CONFIG[kind]):
            found.append(kind)
    # older checkpoints have one file for both
    has_one_file = "image" in found and "video" not in found and not parts_named
    if has_one_file and _names(configs, _VIDEO_TOKENS):
        found.append("video")
    return tuple(found)


def _names(
    found: Sequence[Mapping[str, Any]],
    keys: Sequence[str],
) -> bool:
    """Whether one of the mappings has one of the keys with something in it."""
    return any(row.get(key) is not None for row in found for key in keys)


def modalities(declared: object) -> tuple[str, ...]:
    """The ``input_modalities`` of a class of the library: a name, several, or none."""
    if declared is None:
        return ()
    if isinstance(declared, str):
        return (declared,)
    return tuple(map(str, cast("Iterable[object]", declared)))


def input_mismatch(kinds: Iterable[str], model: object) -> str:
    """How a loaded class's inputs differ from its files' (``kinds``); empty if equal.
    It is checked after loading because the class needs torch: the files decide, and
    this is logged."""
    stated = modalities(getattr(model, "input_modalities", None))
    said = set(stated) & set(_MEDIA)
    if not said or said == set(kinds):
        return ""
    declared = "+".join(sorted(kinds)) or "text only"
    return (
        f"its class reads {'+'.join(sorted(said))}, its files say {declared} and "
        "decide; inputs=... overrules them"
    )


def overridden(own: Capabilities, settings: Settings) -> Capabilities:
    """The capabilities, with ``inputs`` and ``outputs`` of the user where given.

    Inputs may be any kinds. Outputs may be fewer than the adapter's, or kinds that it
    calls declarable, since it cannot give others. Raises UnknownNameError and
    UsageError.
    """
    found = own
    if settings.inputs:
        inputs = list(_kinds("inputs", settings.inputs))
        found = replace(found, inputs=Capabilities.of(inputs, ["text"]).inputs)
    if settings.outputs:
        outputs = list(_kinds("outputs", settings.outputs))
        named = Capabilities.of(["text"], outputs).outputs
        allowed = {*own.outputs, *own.declarable}
        beyond = [kind for kind in named if kind not in allowed]
        if beyond:
            raise UsageError(
                f"outputs={settings.outputs}: this model's adapter gives "
                f"{'+'.join(own.outputs)}, never "
                f"{'+'.join(beyond)}; leave it out, or name another adapter"
            )
        found = replace(found, outputs=named)
    return found


def _kinds(argument: str, given: str) -> Iterator[str]:
    for name in given.split("+"):
        if name not in PART_KINDS:
            raise UnknownNameError(
                f"kind in {argument}",
                name,
                PART_KINDS,
                f"Known: {', '.join(PART_KINDS)}.",
            )
        yield name
