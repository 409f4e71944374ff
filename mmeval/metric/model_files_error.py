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
"""The maximum number of weights that a message names. For the others, it states only
their number."""
_LENGTH_BYTES = 8
_OF_A_FOLDER = "put all files of the right model there, or name another model"
_PREPARE = "mmeval prepare TASK --weights; or name another model"


class WeightsError(MissingDataError):
    """The error for a model whose files cannot be used.

    In the message, ``fault`` follows the folder, and ``how_to_fix`` is at the end. By
    default the message asks the user to replace the files.
    """

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
        """Returns the same error with the name of a model on the hub.

        The files of such a model can be downloaded again. Unless the error already says
        how to fix it, the new error names the command.
        """
        how_to_fix = self.how_to_fix
        if not how_to_fix:
            how_to_fix = f"delete {_to_delete(self.folder)}, then run: {_PREPARE}"
        return WeightsError(self.folder, self.fault, model=model, how_to_fix=how_to_fix)


def gaps(
    report: Mapping[str, Any],
    ignored: tuple[str, ...] = (),
) -> str:
    """Returns the fault if a library did not find all weights in a model's files.

    Missing weights, and weights of another shape, would have random values. ``report``
    is the library's ``output_loading_info``. Weights whose last name is in ``ignored``,
    and additional weights in the files, are not faults. The string is empty if there is
    no fault.
    """
    missing = []
    for name in report.get("missing_keys", ()):
        if name.rpartition(".")[2] not in ignored:
            missing.append(name)
    if missing:
        return _not_in_files(missing)
    other = []
    for name, shape, expected in report.get("mismatched_keys", ()):
        other.append(f"{name}: {list(shape)} instead of {list(expected)}")
    if not other:
        return ""
    return (
        f"{len(other)} of its weights have another shape than config.json states "
        f"({listed(sorted(other), _NAMED)})"
    )


def _not_in_files(weights: list[str]) -> str:
    shown = listed(sorted(weights), _NAMED)
    return f"{len(weights)} of its weights are not in its files ({shown})"


def uneven_blocks(names: Iterable[str], start: str) -> str:
    """Returns the fault if weights are missing in blocks that should be equal.

    The names of the weights are ``START.NUMBER.NAME``.

    It is a fault if the number of a block is missing between other numbers, or if a
    block lacks a weight that another block has. The string is empty if there is no
    fault.
    """
    blocks: dict[int, set[str]] = {}
    for name in names:
        number, _, rest = name.removeprefix(f"{start}.").partition(".")
        if name.startswith(f"{start}.") and number.isdecimal():
            blocks.setdefault(int(number), set()).add(rest)
    all_names = set().union(*blocks.values())
    all_missing: list[str] = []
    for block in range(max(blocks, default=-1) + 1):
        missing = all_names - blocks.get(block, set())
        all_missing += [f"{start}.{block}.{name}" for name in missing]
    return _not_in_files(all_missing) if all_missing else ""


def damaged_files(folder: Path) -> list[Path]:
    """Returns the incomplete safetensors files of a folder.

    A file is incomplete if its length differs from the length that its header states.
    """
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
    """Returns the files that the user has to delete so that they are downloaded again.

    The result is the damaged files, or all files if none is damaged.
    """
    files = damaged_files(folder)
    if not files:
        files += sorted(folder.glob("*.safetensors"))
        files += sorted(folder.glob("*.bin"))
    shown = []
    for path in files:
        # In the hub's cache a file is a link, and its target must be deleted.
        shown.append(str(path.resolve() if path.is_symlink() else path))
    return listed(shown, _NAMED) or str(folder)
