"""Loads a pipeline's networks one by one, so that missing weights are reported."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mmeval.errors import MissingDataError
from mmeval.metric import gaps
from mmeval.model_backends.hf.checkpoint.files import PIPELINE_INDEX


def networks(folder: Path, dtype: Any, where: str) -> dict[str, Any]:
    """The networks of a pipeline's folder by names of parts, in a ``dtype`` of torch.

    Parts with their own code, or that are not networks, are left to the library. Raises
    MissingDataError for weights that are missing or have another shape: the library
    would fill them with random numbers, and draw noise. ``Any``: each network is a
    class of its own.
    """
    return {
        name: _loaded(kind, folder / name, dtype, where)
        for name, kind in _classes(folder)
    }


def _classes(folder: Path) -> Iterator[tuple[str, Any]]:
    """The networks with folders of their own, and their classes."""
    index: Mapping[str, Any] = json.loads((folder / PIPELINE_INDEX).read_bytes())
    for name, named in index.items():
        if (
            isinstance(named, list)
            and (folder / name).is_dir()
            and not (folder / name / f"{named[0]}.py").is_file()
        ):
            kind = _class(*named)
            if _tells(kind):
                yield name, kind


def _class(library: str | None, name: str | None) -> Any:
    """A class of diffusers, transformers, or a diffusers pipeline; None for any
    other."""
    import diffusers

    if library in ("diffusers", "transformers"):
        return getattr(importlib.import_module(library), str(name), None)
    return getattr(getattr(diffusers.pipelines, str(library), None), str(name), None)


def _tells(kind: Any) -> bool:
    """Whether it is a network that reports missing weights."""
    import diffusers
    import transformers

    return isinstance(kind, type) and issubclass(
        kind, diffusers.ModelMixin | transformers.PreTrainedModel
    )


def _loaded(kind: Any, folder: Path, dtype: Any, where: str) -> Any:
    network, told = kind.from_pretrained(
        folder,
        dtype=dtype,
        local_files_only=True,
        output_loading_info=True,
        ignore_mismatched_sizes=True,
    )
    if found := gaps(told):
        raise MissingDataError(
            f"pretrained={where}: {folder.name}: {found}; fetch the pipeline again, "
            "or look whether "
            f"{folder.name}/config.json belongs to these weights"
        )
    return network
