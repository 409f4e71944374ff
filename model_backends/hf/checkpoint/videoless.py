"""A processor without its part for videos, which alone needs torchvision."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from mmeval.errors import UsageError
from mmeval.model_backends.hf.checkpoint.files import ModelFiles

_VIDEO = "video_processor"
_LOADERS = {
    "image_processor": "AutoImageProcessor",
    "feature_extractor": "AutoFeatureExtractor",
    "tokenizer": "AutoTokenizer",
}
_NAMED_IN = (
    "processor_config.json",
    "preprocessor_config.json",
    "tokenizer_config.json",
    "config.json",
)


def processor_without_video(files: ModelFiles, given: Mapping[str, Any]) -> Any:
    """The model's own processor with None as its video part.
    ``given`` are arguments of ``from_pretrained``.

    Raises UsageError for a model whose processor has no known name.
    """
    import transformers
    from transformers.models.auto import processing_auto as known

    # by the model's files, else the library's by its type
    name = ""
    for file in _NAMED_IN:
        name = name or str(files.json(file).get("processor_class", ""))
    name = name or known.PROCESSOR_MAPPING_NAMES.get(files.model_type, "")
    own: Any = known.processor_class_from_name(name) if name else None
    attributes = [] if own is None else own.get_attributes()
    kept = [name for name in attributes if name != _VIDEO]
    if own is None or not _LOADERS.keys() >= set(kept):
        raise UsageError(
            f"{files.name}: its processor needs torchvision; run: pip install "
            "torchvision"
        )
    parts = {}
    for name in kept:
        loader = getattr(transformers, _LOADERS[name])
        parts[name] = loader.from_pretrained(files.folder, **given)
    settings, _ = own.get_processor_dict(files.folder, local_files_only=True)
    arguments = [parts.get(name) for name in own.get_attributes()]
    processor = _videoless(own).from_args_and_dict(arguments, settings)
    del processor.video_processor
    if processor.chat_template is None:
        processor.chat_template = parts["tokenizer"].chat_template
    return processor


@cache
def _videoless(own: Any) -> Any:
    """The class with a constructor that accepts None for the video part."""

    def check(self: Any, name: str, part: Any) -> Any:
        if name == _VIDEO:
            return None
        return super(made, self).check_argument_for_proper_class(name, part)

    made: Any = type(
        f"{own.__name__}WithoutVideo",
        (own,),
        {"check_argument_for_proper_class": check},
    )
    return made
