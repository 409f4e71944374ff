"""The kinds of pipelines: what they take and give, by the signature of their call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mmeval.errors import UsageError
from mmeval.model_backends.diffusers.signatures import Signature
from mmeval.model_backends.hf.checkpoint.files import PIPELINE_INDEX

Pictures = Literal["none", "optional", "required"]
MediaKind = Literal["image", "video", "audio"]

_GIVES: Mapping[str, MediaKind] = {
    "image": "image",
    "images": "image",
    "frames": "video",
    "audios": "audio",
}
"""The kind of media in each field of the record that a call returns."""
_GIVES_BY_PARAMETER: Mapping[str, MediaKind] = {
    "num_frames": "video",
    "video_length": "video",
    "audio_length_in_s": "audio",
    "audio_end_in_s": "audio",
    "audio_duration": "audio",
}
"""Parameters that show the kind of media if the source names no fields."""
_PICTURE_PARAMETERS = ("image", "input_images", "images")
_FROM_PICTURES = re.compile(
    "2Img|Image2Image|ImageToImage|I2I|Edit|Pix2Pix|Variation|ImageToVideo|"
    "Image2Video|I2V|VideoToWorld|Video2World"
)
"""Words in the names of classes that cannot do without a picture.

Their signature often declares ``image=None``, and the call then fails.
"""
_OTHER_PURPOSE = re.compile(
    "Upscale|Upsample|SuperResolution|Refine|Inpaint|ControlNet|LDM3D|ShapE|Onnx|"
    "Prior|Decoder|TextToVideoZero"
)
"""Words in the names of classes for a purpose that the signature does not show."""
_UNUSABLE_PARAMETERS = (
    "mask_image",
    "mask_video",
    "control_image",
    "control_video",
    "controlnet_conditioning_scale",
    "adapter_conditioning_scale",
    "conditioning_frames",
    "original_image",
    "task_prompt",
    "layers",
    "audio",
    "cond_image",
)
"""Parameters for inputs that the parts of a request do not have."""
_SEVERAL_PICTURES = re.compile("EditPlus|Flux2|QwenImage21|ZImageOmni")
"""Classes that read a list in ``image`` as several pictures of one prompt.

For all others such a list is a batch, and both have the same signature.
"""


@dataclass(frozen=True)
class PipelineKind:
    """What a pipeline takes and gives.

    ``picture_parameter`` is the parameter of the call for pictures. It is empty if the
    pipeline takes none.
    """

    gives: MediaKind
    takes_text: bool = True
    pictures: Pictures = "none"
    several_pictures: bool = False
    picture_parameter: str = ""

    @property
    def takes(self) -> tuple[Literal["text", "image"], ...]:
        text: tuple[Literal["text"], ...] = ("text",) if self.takes_text else ()
        if self.pictures == "none":
            return text
        return (*text, "image")


def pipeline_class(index: Mapping[str, Any], where: str) -> str:
    """Returns the class name in ``model_index.json``.

    Raises UsageError without one.
    """
    value = index.get("_class_name")
    name = value[-1] if isinstance(value, list) and value else value
    if not name or not isinstance(name, str):
        raise UsageError(
            f"{where}: {PIPELINE_INDEX} does not name a pipeline (_class_name). Fetch "
            "the model again"
        )
    return name


def own_code_of(index: Mapping[str, Any], folder: Path) -> Path | None:
    """Returns the file with the pipeline's class, if it comes with the pipeline.

    Loading such a pipeline would run the file.
    """
    value = index.get("_class_name")
    if not isinstance(value, list) or not value:
        return None
    return folder / f"{str(value[0]).replace('.', '/')}.py"


def kind_of(signature: Signature, where: str) -> PipelineKind:
    """Returns what a pipeline takes and gives.

    Raises UsageError for a pipeline that cannot answer requests. The message states the
    reason, and names classes that fit.
    """
    name = signature.class_name
    parameters = signature.parameters
    gives = _gives(signature)
    picture_parameter = ""
    for parameter in _PICTURE_PARAMETERS:
        if parameter in parameters and not picture_parameter:
            picture_parameter = parameter
    reason = _reason_against(signature, gives, picture_parameter)
    if gives is None or reason:
        named = f"a {name} cannot be used ({reason})"
        fit = fitting(gives or "image", with_picture=_is_from_pictures(signature))
        raise UsageError(f"pretrained={where}: {named}. {fit}")
    pictures: Pictures = "none"
    if picture_parameter:
        pictures = "required" if _is_from_pictures(signature) else "optional"
    takes_several = (
        picture_parameter in ("input_images", "images")
        or _SEVERAL_PICTURES.search(name) is not None
    )
    return PipelineKind(
        gives=gives,
        takes_text="prompt" in parameters,
        pictures=pictures,
        several_pictures=bool(picture_parameter) and takes_several,
        picture_parameter=picture_parameter,
    )


def fitting(gives: str, *, with_picture: bool) -> str:
    """Returns advice: the classes of pipelines that take and give these kinds."""
    if gives == "audio":
        return (
            "For sounds from words, use a StableAudioPipeline or an AudioLDM2Pipeline"
        )
    if gives == "video" and with_picture:
        return (
            "For videos from pictures, use a WanImageToVideoPipeline or a "
            "StableVideoDiffusionPipeline"
        )
    if gives == "video":
        return "For videos from words, use a WanPipeline or a CogVideoXPipeline"
    if with_picture:
        return (
            "For changes of a picture in words, use a "
            "StableDiffusionInstructPix2PixPipeline or a FluxKontextPipeline"
        )
    return "For pictures from words, use a StableDiffusionXLPipeline or a FluxPipeline"


def _gives(signature: Signature) -> MediaKind | None:
    given = {_GIVES[field] for field in signature.returns if field in _GIVES}
    if signature.returns:
        return given.pop() if len(given) == 1 else None
    for parameter, kind in _GIVES_BY_PARAMETER.items():
        if parameter in signature.parameters:
            return kind
    return "image"


def _is_from_pictures(signature: Signature) -> bool:
    if signature.required & {*_PICTURE_PARAMETERS, "original_image"}:
        return True
    if "mask_image" in signature.parameters:
        return True
    return _FROM_PICTURES.search(signature.class_name) is not None


def _reason_against(  # noqa: PLR0911  one return for each reason
    signature: Signature, gives: MediaKind | None, picture_parameter: str
) -> str:
    """Returns why a pipeline cannot answer requests; empty if it can."""
    parameters = signature.parameters
    for parameter in _UNUSABLE_PARAMETERS:
        if parameter in parameters:
            return f"it needs {parameter}"
    if "video" in parameters and not picture_parameter:
        return "it needs video"
    word = _OTHER_PURPOSE.search(signature.class_name)
    if word is not None:
        return f"its name contains {word[0]}"
    needed = signature.required - {"prompt", picture_parameter}
    if needed:
        return f"it needs {', '.join(sorted(needed))}"
    if "prompt" not in parameters and not picture_parameter:
        return "it takes neither a prompt nor a picture"
    if "generator" not in parameters:
        return "it does not take a seed"
    if _FROM_PICTURES.search(signature.class_name) and not picture_parameter:
        return "it does not take its picture as image"
    if gives is None:
        return f"it gives {', '.join(sorted(signature.returns))}"
    # Its answer has both, and a part of an answer has one kind.
    if gives == "video" and "audio" in signature.returns:
        return "it gives a video and its sound apart"
    return ""
