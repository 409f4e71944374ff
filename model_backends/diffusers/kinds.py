"""Checks the kind of a pipeline: only text-to-image pipelines are accepted."""

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
"""Words in the class names of pipelines that are not text-to-image pipelines."""

_OUTPUT_OF_PARAMETER = {
    "num_frames": "videos",
    "video_length": "videos",
    "audio_length_in_s": "sounds",
    "audio_end_in_s": "sounds",
    "audio_duration": "sounds",
}
"""Call parameters that indicate another kind of output."""


def pipeline_class(index: Mapping[str, Any], where: str) -> str:
    """Returns the class name in ``model_index.json``.

    Raises UsageError if it is not the name of a text-to-image pipeline.
    """
    value = index.get("_class_name")
    name = value[-1] if isinstance(value, list) and value else value
    if not name or not isinstance(name, str):
        raise UsageError(
            f"{where}: {PIPELINE_INDEX} does not name a pipeline (_class_name). Fetch "
            "the model again"
        )
    word = _OTHER_PURPOSE.search(name)
    if word:
        raise UsageError(_refused(where, name, f"its name contains {word[0]}"))
    return name


def has_own_code(index: Mapping[str, Any]) -> bool:
    """Returns True if the pipeline comes with code that would run on loading."""
    return isinstance(index.get("_class_name"), list)


def call_parameters(pipeline: Any, where: str) -> dict[str, inspect.Parameter]:
    """Returns the parameters of a pipeline's call, by name.

    ``pipeline`` is a pipeline or its class. Raises UsageError if the parameters show
    that it is not a text-to-image pipeline.
    """
    name = pipeline.__name__ if inspect.isclass(pipeline) else type(pipeline).__name__
    parameters = dict(inspect.signature(pipeline.__call__).parameters)
    if "prompt" not in parameters or "generator" not in parameters:
        raise UsageError(_refused(where, name, "it does not take a prompt and a seed"))
    for parameter, output in _OUTPUT_OF_PARAMETER.items():
        if parameter in parameters:
            raise UsageError(_refused(where, name, f"it makes {output}"))
    needed = set()
    for call_parameter in parameters.values():
        if (
            call_parameter.default is call_parameter.empty
            and call_parameter.kind is call_parameter.POSITIONAL_OR_KEYWORD
        ):
            needed.add(call_parameter.name)
    unmet = sorted(needed - {"self", "prompt"})
    if unmet:
        raise UsageError(_refused(where, name, f"it needs {', '.join(unmet)}"))
    return parameters


def _refused(
    where: str,
    name: str,
    reason: str,
) -> str:
    return (
        f"pretrained={where}: a {name} is not a text-to-image pipeline ({reason}). Use "
        "a pipeline that needs only text, such as a StableDiffusionXLPipeline or a "
        "FluxPipeline"
    )
