"""Loads a pipeline's networks one by one, to report missing weights."""

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
    """Loads the networks in a pipeline's folder, and returns them by part name.

    ``dtype`` is a type of torch. The library loads all other parts: parts that come
    with code, and parts that are not networks. Raises MissingDataError for weights that
    are missing or have the wrong shape. Otherwise the library would replace them with
    random numbers, and the pipeline would draw noise.
    """
    import diffusers
    import transformers

    # These base classes report missing weights.
    reporting_classes = (diffusers.ModelMixin, transformers.PreTrainedModel)
    loaded = {}
    index: Mapping[str, Any] = json.loads((folder / PIPELINE_INDEX).read_bytes())
    for name, entry in index.items():
        part = folder / name
        if not isinstance(entry, list) or not part.is_dir():
            continue
        if (part / f"{entry[0]}.py").is_file():
            continue
        library, class_name = entry
        holder: Any = getattr(diffusers.pipelines, str(library), None)
        if library in ("diffusers", "transformers"):
            holder = importlib.import_module(library)
        kind: Any = getattr(holder, str(class_name), None)
        is_network = isinstance(kind, type) and issubclass(kind, reporting_classes)
        if not is_network:
            continue
        network, loading_info = kind.from_pretrained(
            part,
            dtype=dtype,
            local_files_only=True,
            output_loading_info=True,
            ignore_mismatched_sizes=True,
        )
        missing = gaps(loading_info)
        if missing:
            raise MissingDataError(
                f"pretrained={where}: {name}: {missing}. Fetch the pipeline again, or "
                f"check that {name}/config.json belongs to these weights"
            )
        loaded[name] = network
    return loaded
