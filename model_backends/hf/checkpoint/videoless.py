"""Loads a processor without its video part, the only part that needs torchvision."""

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


def processor_without_video(files: ModelFiles, options: Mapping[str, Any]) -> Any:
    """Returns the model's processor with None as its video part.

    ``options`` are arguments of ``from_pretrained``.

    Raises UsageError if the class of the processor is unknown.
    """
    import transformers
    from transformers.models.auto import processing_auto as registry

    # the model's files name the class; otherwise the library knows it by model type
    name = ""
    for file in _NAMED_IN:
        name = name or str(files.json(file).get("processor_class", ""))
    name = name or registry.PROCESSOR_MAPPING_NAMES.get(files.model_type, "")
    processor_class: Any = registry.processor_class_from_name(name) if name else None
    attributes = [] if processor_class is None else processor_class.get_attributes()
    part_names = [name for name in attributes if name != _VIDEO]
    if processor_class is None or not _LOADERS.keys() >= set(part_names):
        raise UsageError(
            f"{files.name}: the processor needs torchvision; run: pip install "
            "torchvision"
        )
    parts = {}
    for name in part_names:
        loader = getattr(transformers, _LOADERS[name])
        parts[name] = loader.from_pretrained(files.folder, **options)
    settings, _ = processor_class.get_processor_dict(
        files.folder, local_files_only=True
    )
    arguments = [parts.get(name) for name in processor_class.get_attributes()]
    processor = _videoless(processor_class).from_args_and_dict(arguments, settings)
    del processor.video_processor
    if processor.chat_template is None:
        processor.chat_template = parts["tokenizer"].chat_template
    return processor


@cache
def _videoless(processor_class: Any) -> Any:
    """Returns a subclass whose constructor accepts None as the video part."""

    def check(self: Any, name: str, part: Any) -> Any:
        if name == _VIDEO:
            return None
        return super(subclass, self).check_argument_for_proper_class(name, part)

    subclass: Any = type(
        f"{processor_class.__name__}WithoutVideo",
        (processor_class,),
        {"check_argument_for_proper_class": check},
    )
    return subclass
