"""Errors of a model's files (incomplete, damaged, wrong), and how to fix them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from mmeval.errors import MissingDataError
from mmeval.system.wording import listed

_NAMED = 3
"""Weights that a message names; the others are counted."""
_LENGTH_BYTES = 8
_OF_A_FOLDER = "put all files of the right model there, or name another model"
_PREPARE = "mmeval prepare TASK --weights; or name another model"


class WeightsError(MissingDataError):
    """Files of a model that give no scores. ``fault`` is what is wrong with them, in
    words that follow the folder; ``how_to_fix`` is how to fix it, unless the right
    files have to be put there."""

    def __init__(
        self, folder: Path, fault: str, *, model: str = "", how_to_fix: str = ""
    ) -> None:
        name = f" {model}" if model else ""
        super().__init__(
            f"the model{name} in {folder} {fault}; {how_to_fix or _OF_A_FOLDER}",
            name=model,
        )
        self.folder = folder
        self.fault = fault
        self.model = model
        self.how_to_fix = how_to_fix

    def __reduce__(self) -> tuple[object, ...]:
        return partial(WeightsError, model=self.model, how_to_fix=self.how_to_fix), (
            self.folder,
            self.fault,
        )

    def of_hub(self, model: str) -> WeightsError:
        """The same about a model of the hub, which a command fetches again."""
        how_to_fix = (
            self.how_to_fix or f"delete {_to_delete(self.folder)}, then run: {_PREPARE}"
        )
        return WeightsError(self.folder, self.fault, model=model, how_to_fix=how_to_fix)


def gaps(report: Mapping[str, Any], ignored: tuple[str, ...] = ()) -> str:
    """The weights that a library did not find in the files of a model.

    They were missing or had another shape, and are filled with random numbers:
    ``report`` is its ``output_loading_info``. Empty where these are only weights whose
    last name is ``ignored``. Weights without a place in the model do not count.
    """
    missing = sorted(
        name
        for name in report.get("missing_keys", ())
        if name.rpartition(".")[2] not in ignored
    )
    if missing:
        return (
            f"{len(missing)} of its weights are not in its files "
            f"({listed(missing, _NAMED)})"
        )
    other = sorted(
        f"{name}: {list(is_)}, not {list(wanted)}"
        for name, is_, wanted in report.get("mismatched_keys", ())
    )
    shown = listed(other, _NAMED)
    return (
        f"{len(other)} of its weights have another shape than config.json says "
        f"({shown})"
        if other
        else ""
    )


def uneven_blocks(names: Iterable[str], start: str) -> str:
    """The missing weights of equal blocks, named ``START.NUMBER.NAME``.

    Missing is a block between others, or a weight that another block has. Empty where
    none is.
    """
    found: dict[int, set[str]] = {}
    for name in names:
        number, _, rest = name.removeprefix(f"{start}.").partition(".")
        if name.startswith(f"{start}.") and number.isdecimal():
            found.setdefault(int(number), set()).add(rest)
    every = set().union(*found.values())
    lacks = [
        f"{start}.{n}.{name}"
        for n in range(max(found, default=-1) + 1)
        for name in every - found.get(n, set())
    ]
    return (
        f"{len(lacks)} of its weights are not in its files "
        f"({listed(sorted(lacks), _NAMED)})"
        if lacks
        else ""
    )


def damaged_files(folder: Path) -> list[Path]:
    """The incomplete safetensors files of a folder: their declared length differs."""
    return [
        path for path in sorted(folder.glob("*.safetensors")) if not _is_whole(path)
    ]


def _is_whole(path: Path) -> bool:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            header = int.from_bytes(file.read(_LENGTH_BYTES), "little")
            if header > size:
                return False
            tensors = json.loads(file.read(header))
        ends = [
            tensor["data_offsets"][1]
            for name, tensor in tensors.items()
            if name != "__metadata__"
        ]
        return bool(size == _LENGTH_BYTES + header + max(ends, default=0))
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ):
        return False


def _to_delete(folder: Path) -> str:
    """The files to delete so that they are fetched again: the damaged, or all weights.
    In the hub's cache a file is a link, and its target has to be deleted."""
    files = damaged_files(folder) or [
        *sorted(folder.glob("*.safetensors")),
        *sorted(folder.glob("*.bin")),
    ]
    shown = [str(path.resolve() if path.is_symlink() else path) for path in files]
    return listed(shown, _NAMED) or str(folder)
