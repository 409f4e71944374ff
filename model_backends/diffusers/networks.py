"""Loads a pipeline's networks one by one, so that missing weights are reported."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmeval.errors import MissingDataError
from mmeval.metric import gaps
from mmeval.model_backends.hf.checkpoint.files import PIPELINE_INDEX


def networks(
    folder: Path,
    dtype: Any,
    where: str,
) -> dict[str, Any]:
    """The networks of a pipeline's folder by names of parts, in a ``dtype`` of torch.

    Parts with their own code, or that are not networks, are left to the library. Raises
    MissingDataError for weights that are missing or have another shape: the library
    would fill them with random numbers, and draw noise. ``Any``: each network is a
    class of its own.
    """
    import diffusers
    import transformers

    # those that report missing weights
    known = (diffusers.ModelMixin, transformers.PreTrainedModel)
    loaded = {}
    index: Mapping[str, Any] = json.loads((folder / PIPELINE_INDEX).read_bytes())
    for name, named in index.items():
        part = folder / name
        if not isinstance(named, list) or not part.is_dir():
            continue
        if (part / f"{named[0]}.py").is_file():
            continue
        library, class_name = named
        holder: Any = getattr(diffusers.pipelines, str(library), None)
        if library in ("diffusers", "transformers"):
            holder = importlib.import_module(library)
        kind: Any = getattr(holder, str(class_name), None)
        is_network = isinstance(kind, type) and issubclass(kind, known)
        if not is_network:
            continue
        network, told = kind.from_pretrained(
            part,
            dtype=dtype,
            local_files_only=True,
            output_loading_info=True,
            ignore_mismatched_sizes=True,
        )
        lacking = gaps(told)
        if lacking:
            raise MissingDataError(
                f"pretrained={where}: {name}: {lacking}; fetch the pipeline again, or "
                f"look whether {name}/config.json belongs to these weights"
            )
        loaded[name] = network
    return loaded
