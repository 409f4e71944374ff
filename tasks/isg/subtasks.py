"""ISG-Bench's eight categories and 21 subtasks, as the data and scripts spell them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from mmeval.errors import UnknownNameError


class CategoryNames(NamedTuple):
    """The names of a category.

    ``column`` is the name in the paper's tables, and ``released`` is the released
    aggregator's name. ``subtasks`` maps the spelling in the data to the name of
    mmeval's task (without ``isg_``).
    """

    column: str
    released: str
    subtasks: Mapping[str, str]


CATEGORIES: Mapping[str, CategoryNames] = {
    "style": CategoryNames(
        "Style",
        "Style Transer",  # as the released aggregator writes it
        {
            "Art Style Transfer": "art_style_transfer",
            "Scene Attribute Transfer": "scene_attribute_transfer",
            "Photo Variation": "photo_variation",
            "Portrait Variation": "portrait_variation",
        },
    ),
    "progressive": CategoryNames(
        "Prog.",
        "Progressive",
        {
            "Animation Text-Image": "text_animation",
            "Animation Images": "image_animation",
            "Attribute Transfer": "attribute_transfer",
        },
    ),
    "3d": CategoryNames(
        "3D",
        "3D Scene",
        {
            "multi-Perspective Scene Generation": "multi_view_scene",
            "3D_object": "multi_angle_object",
        },
    ),
    "decomposition": CategoryNames(
        "Dec.",
        "Image Decomposition",
        {
            "Realistic Object Detection": "realistic_decomposition",
            "Imaginary Object Detection": "synthetic_decomposition",
            "Semantic Segmentation": "semantic_decomposition",
        },
    ),
    "itc": CategoryNames(
        "I-T C.",
        "Image-Text Complementation",
        {"HowTo": "howto", "Scientific": "scientific"},
    ),
    "temporal": CategoryNames(
        "Temp.",
        "Temporal Prediction",
        {"Prediction": "real_world_simulation", "painting": "painting"},
    ),
    "story": CategoryNames(
        "VST",
        "Visual Story Telling",
        {
            "visual storytelling image": "image_storytelling",
            "visual storytelling text": "text_storytelling",
            "visual storytelling text-image": "image_text_storytelling",
        },
    ),
    "vqa": CategoryNames(
        "VQA", "VQA", {"Object_VQA": "object_qa", "Historical": "historical"}
    ),
}
"""The categories in the order of the paper's tables."""
SEMANTIC = "Semantic Segmentation"
"""The subtask that the released aggregator leaves out."""
LEVELS = ("structural", "block", "image", "holistic")
TASKS: Mapping[str, str] = {
    f"isg_{task}": name
    for names in CATEGORIES.values()
    for name, task in names.subtasks.items()
}
"""Maps a task's name to the spelling of its subtask in the data."""
Requirement = Literal["detailed", "partial", "none"]
_REQUIRED: Mapping[str, Requirement] = {
    "style": "detailed",
    "3d": "detailed",
    "decomposition": "detailed",
}
_NO_REQUIREMENT = ("Scientific", "Object_VQA", "Historical")
_OF_SUBTASK = {
    name: category for category, names in CATEGORIES.items() for name in names.subtasks
}


def requirement_of(subtask: str) -> Requirement:
    """Returns how far the task determines the content of the pictures.

    ``detailed``: completely. ``partial``: only the main objects. ``none``: not at all.
    The released prompts make this distinction. An unknown subtask is treated as
    ``partial``.
    """
    return (
        "none"
        if subtask in _NO_REQUIREMENT
        else _REQUIRED.get(_OF_SUBTASK.get(subtask, ""), "partial")
    )


def category_of(subtask: str) -> str:
    """Returns the category of a subtask. Raises UnknownNameError if it is unknown."""
    if subtask not in _OF_SUBTASK:
        raise UnknownNameError("subtask of ISG-Bench", subtask, _OF_SUBTASK)
    return _OF_SUBTASK[subtask]
