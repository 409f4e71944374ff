"""Loads the models of metrics, in the format of the transformers library."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmeval.errors import MmevalError, UsageError, is_out_of_memory
from mmeval.metric import WeightsError, damaged_files, gaps
from mmeval.system import need

if TYPE_CHECKING:
    import numpy as np

    Vectors = np.ndarray[Any, np.dtype[np.float32]]


def bound(model: str | Mapping[str, Any]) -> Mapping[str, Any]:
    """Checks that a model switch is bound. Raises UsageError for a bare name."""
    if isinstance(model, str):
        raise UsageError(
            f"the model {model!r} is not bound. To score a single trial, call "
            "score_one(bind(METRIC, SWITCHES), TRIAL)"
        )
    return model


_UNUSED = ("masked_spec_embed", "num_batches_tracked")
"""Weights that only training uses. Released files may lack these weights."""


def network_of(
    kind: str,
    folder: Path,
    device: str,
) -> Any:
    """Loads a model in evaluation mode, given the name of its transformers class.

    The model uses full precision, so the same input gives nearly the same numbers
    everywhere. The return type is ``Any``, since each kind of model is of a different
    class. Raises WeightsError for files that are damaged, incomplete, or from another
    kind of model. The library would fill missing weights with random numbers.
    """
    model_class = getattr(need("transformers", "hf"), kind)
    # Checked here, since transformers loads the weights of any kind of model.
    model_type = model_class.config_class.model_type
    with opening(folder):
        settings = json.loads((folder / "config.json").read_text("utf-8"))
        stored_type = settings.get("model_type", model_type)
    if stored_type != model_type:
        raise WeightsError(
            folder,
            f"is a model of the kind {stored_type!r}, but {model_type!r} is needed",
        )
    with opening(folder), quietly():
        network, loading_info = model_class.from_pretrained(
            folder,
            local_files_only=True,
            dtype="float32",
            output_loading_info=True,
            ignore_mismatched_sizes=True,
        )
    if missing := gaps(loading_info, _UNUSED):
        raise WeightsError(folder, f"cannot be used: {missing}")
    return network.to(device).eval()


@contextlib.contextmanager
def opening(
    folder: Path,
    fault: str = "cannot be loaded",
    *passing: type[Exception],
    how_to_fix: str = "",
) -> Iterator[None]:
    """Converts a library's errors to a WeightsError that names the damaged files.

    Errors about memory or packages, and errors of the types ``passing``, are not
    converted.
    """
    try:
        yield
    except (MmevalError, ImportError):
        raise
    # Broad, since transformers and torch may raise any error for an unreadable file.
    except Exception as error:
        if isinstance(error, passing) or is_out_of_memory(error):
            raise
        damaged = ", ".join(path.name for path in damaged_files(folder))
        words = " ".join(str(error).split())[:_MOST_WORDS]
        damage = f": {damaged} is damaged or incomplete" if damaged else ""
        raise WeightsError(
            folder,
            f"{fault}{damage} ({type(error).__name__}: {words})",
            how_to_fix=how_to_fix,
        ) from error


_MOST_WORDS = 300


def of_length_one(vectors: Vectors) -> Vectors:
    """Scales each row to length 1, so that dot products are cosines.

    A row of zeros is not changed.
    """
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Vectors = vectors / np.maximum(lengths, np.float32(1e-12))
    return scaled


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Switches off the library's progress bars and its hints to programmers."""
    library = need("transformers.utils.logging", "hf")
    had_progress_bar, level = library.is_progress_bar_enabled(), library.get_verbosity()
    library.disable_progress_bar()
    library.set_verbosity_error()
    try:
        yield
    finally:
        library.set_verbosity(level)
        if had_progress_bar:
            library.enable_progress_bar()
