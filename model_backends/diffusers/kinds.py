"""The kind of a pipeline; only those that make a picture from words are accepted."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

from mmeval.errors import UsageError
from mmeval.model_backends.hf.checkpoint.files import PIPELINE_INDEX

_OTHER_PURPOSE = re.compile(
    "Img2Img|Image2Image|ImageToImage|I2I|ImageToVideo|I2V|T2V|TI2V|Video|Inpaint|"
    "Fill|Edit|Upscale|Upsample|SuperResolution|Refiner|Control|Adapter|Variation|"
    "Pix2Pix|Depth|LDM3D|Prior|Decoder|Audio|Music|ShapE|Marigold"
)
"""Parts of class names of pipelines that need more than words, or do not make a
picture."""

_SIGN_OF = {
    "num_frames": "videos",
    "video_length": "videos",
    "audio_length_in_s": "sounds",
    "audio_end_in_s": "sounds",
    "audio_duration": "sounds",
}
"""Parameters of a call that show its kind."""


def pipeline_class(index: Mapping[str, Any], where: str) -> str:
    """The class in ``model_index.json``.
    Raises UsageError for one whose name is not that of a text-to-image pipeline."""
    named = index.get("_class_name")
    name = named[-1] if isinstance(named, list) and named else named
    if not name or not isinstance(name, str):
        raise UsageError(
            f"{where}: {PIPELINE_INDEX} names no pipeline (_class_name); fetch the "
            "model again"
        )
    word = _OTHER_PURPOSE.search(name)
    if word:
        raise UsageError(_refused(where, name, f"its name says {word[0]}"))
    return name


def own_code(index: Mapping[str, Any]) -> bool:
    """Whether the pipeline comes with its own code, which would run when it is
    loaded."""
    return isinstance(index.get("_class_name"), list)


def call_parameters(pipeline: Any, where: str) -> dict[str, inspect.Parameter]:
    """The parameters of a pipeline's call, by name; ``pipeline`` is one, or its class.

    Raises UsageError where they show that it does not take words, or makes no picture.
    """
    name = pipeline.__name__ if inspect.isclass(pipeline) else type(pipeline).__name__
    found = dict(inspect.signature(pipeline.__call__).parameters)
    if "prompt" not in found or "generator" not in found:
        raise UsageError(_refused(where, name, "it takes no prompt and seed"))
    for parameter, made in _SIGN_OF.items():
        if parameter in found:
            raise UsageError(_refused(where, name, f"it makes {made}"))
    needed = set()
    for p in found.values():
        if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD:
            needed.add(p.name)
    left = sorted(needed - {"self", "prompt"})
    if left:
        raise UsageError(_refused(where, name, f"it needs {', '.join(left)}"))
    return found


def _refused(
    where: str,
    name: str,
    reason: str,
) -> str:
    return (
        f"pretrained={where}: this is a {name}, which is not a text-to-image pipeline "
        f"({reason}); give one that draws a "
        "picture from words alone, such as a StableDiffusionXLPipeline or a "
        "FluxPipeline"
    )
