"""Loads models of metrics in the format of transformers."""

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
    """The value of a bound model switch. Raises UsageError for a bare name."""
    if isinstance(model, str):
        raise UsageError(
            f"the model {model!r} was not looked for: score with "
            "score_one(bind(METRIC, SWITCHES), TRIAL)"
        )
    return model


_UNUSED = ("masked_spec_embed", "num_batches_tracked")
"""Weights that only training uses: released files may lack them."""


def network_of(
    kind: str,
    folder: Path,
    device: str,
) -> Any:
    """A model of a class of transformers, by its name, in evaluation mode. In full
    precision: the same input gives nearly the same numbers everywhere. ``Any``: each is
    a class of its own.

    Raises WeightsError for files that are damaged, of another kind of model, or
    incomplete: the library would fill missing weights with random numbers.
    """
    chosen = getattr(need("transformers", "hf"), kind)
    # The library would load the weights of any kind of model.
    wanted = chosen.config_class.model_type
    with opening(folder):
        settings = json.loads((folder / "config.json").read_text("utf-8"))
        given = settings.get("model_type", wanted)
    if given != wanted:
        raise WeightsError(
            folder,
            f"is of the kind {given!r}, where one of the kind {wanted!r} is needed",
        )
    with opening(folder), quietly():
        network, told = chosen.from_pretrained(
            folder,
            local_files_only=True,
            dtype="float32",
            output_loading_info=True,
            ignore_mismatched_sizes=True,
        )
    if lacks := gaps(told, _UNUSED):
        raise WeightsError(folder, f"cannot be used: {lacks}")
    return network.to(device).eval()


@contextlib.contextmanager
def opening(
    folder: Path,
    fault: str = "cannot be loaded",
    *passing: type[Exception],
    how_to_fix: str = "",
) -> Iterator[None]:
    """Turn errors of a library into a WeightsError that names the damaged files. Errors
    about memory or packages stay as they are, and so do those of the types
    ``passing``."""
    try:
        yield
    except (MmevalError, ImportError):
        raise
    # a library raises what it likes over files that it cannot read
    except Exception as error:
        if isinstance(error, passing) or is_out_of_memory(error):
            raise
        damaged = ", ".join(path.name for path in damaged_files(folder))
        words = " ".join(str(error).split())[:_MOST_WORDS]
        what = f": {damaged} is damaged or cut short" if damaged else ""
        raise WeightsError(
            folder,
            f"{fault}{what} ({type(error).__name__}: {words})",
            how_to_fix=how_to_fix,
        ) from error


_MOST_WORDS = 300


def of_length_one(vectors: Vectors) -> Vectors:
    """Each row scaled to length 1, so that products are cosines; a row of zeros
    stays."""
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Vectors = vectors / np.maximum(lengths, np.float32(1e-12))
    return scaled


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Switch off the library's progress bars and its hints to programmers."""
    library = need("transformers.utils.logging", "hf")
    shown, level = library.is_progress_bar_enabled(), library.get_verbosity()
    library.disable_progress_bar()
    library.set_verbosity_error()
    try:
        yield
    finally:
        library.set_verbosity(level)
        if shown:
            library.enable_progress_bar()
