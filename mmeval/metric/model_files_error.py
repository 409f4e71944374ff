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
        how_to_fix = self.how_to_fix
        if not how_to_fix:
            how_to_fix = f"delete {_to_delete(self.folder)}, then run: {_PREPARE}"
        return WeightsError(self.folder, self.fault, model=model, how_to_fix=how_to_fix)


def gaps(
    report: Mapping[str, Any],
    ignored: tuple[str, ...] = (),
) -> str:
    """The weights that a library did not find in the files of a model.

    They were missing or had another shape, and are filled with random numbers:
    ``report`` is its ``output_loading_info``. Empty where these are only weights whose
    last name is ``ignored``. Weights without a place in the model do not count.
    """
    missing = []
    for name in report.get("missing_keys", ()):
        if name.rpartition(".")[2] not in ignored:
            missing.append(name)
    if missing:
        return _not_in_files(missing)
    other = []
    for name, shape, wanted in report.get("mismatched_keys", ()):
        other.append(f"{name}: {list(shape)}, not {list(wanted)}")
    if not other:
        return ""
    return (
        f"{len(other)} of its weights have another shape than config.json says "
        f"({listed(sorted(other), _NAMED)})"
    )


def _not_in_files(weights: list[str]) -> str:
    shown = listed(sorted(weights), _NAMED)
    return f"{len(weights)} of its weights are not in its files ({shown})"


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
    lacks: list[str] = []
    for block in range(max(found, default=-1) + 1):
        missing = every - found.get(block, set())
        lacks += [f"{start}.{block}.{name}" for name in missing]
    return _not_in_files(lacks) if lacks else ""


def damaged_files(folder: Path) -> list[Path]:
    """The incomplete safetensors files of a folder: their declared length differs."""
    files = sorted(folder.glob("*.safetensors"))
    return [path for path in files if not _is_whole(path)]


def _is_whole(path: Path) -> bool:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            header = int.from_bytes(file.read(_LENGTH_BYTES), "little")
            if header > size:
                return False
            tensors = json.loads(file.read(header))
        tensors.pop("__metadata__", None)
        ends = [tensor["data_offsets"][1] for tensor in tensors.values()]
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
    files = damaged_files(folder)
    if not files:
        files += sorted(folder.glob("*.safetensors"))
        files += sorted(folder.glob("*.bin"))
    shown = []
    for path in files:
        shown.append(str(path.resolve() if path.is_symlink() else path))
    return listed(shown, _NAMED) or str(folder)
