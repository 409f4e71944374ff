"""Reads layout files: what stands in each cell of a paper's tables.

A cell's key is what the table, the block, the row and the column say together. The
innermost wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, TypeAlias

from pydantic import ValidationError

from mmeval import plugins
from mmeval.errors import PluginError, did_you_mean
from mmeval.system.yaml_document import Document, KeyPath, Problem, read_document
from mmeval.task.chart_limits import RADAR_CORNERS
from mmeval.task.file import SchemaPath, problem_of
from mmeval.task.layout_keys import (
    GROUPS,
    INNER,
    MODELS,
    NONE,
    Absent,
    AxesKeys,
    BestKeys,
    CellKeys,
    Chart,
    EntryKeys,
    FigureKeys,
    LayoutKeys,
    Lists,
    TableKeys,
)

FILE = "layout.yaml"
"""The name of the layout file in a package that is registered as a layout."""
_HOOK = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True)
class Line:
    """A line of an axis: a row, a column or a block.

    ``headers`` are the nested headers from the outside. ``mean`` contains the places of
    the lines that are averaged, or is None for a line of numbers.
    """

    headers: tuple[str, ...]
    key: CellKeys
    mean: tuple[int, ...] | None = None
    half_width: CellKeys | None = None


Axis: TypeAlias = Literal["models", "groups", "none"] | tuple[Line, ...]


@dataclass(frozen=True)
class LayoutTable:
    """A table of a layout, with the defaults of the file applied."""

    name: str
    title: str
    note: str
    key: CellKeys
    blocks: Axis
    rows: Axis
    columns: Axis
    absent: Absent
    best: BestKeys | None
    delta: bool
    wrap: int | None
    is_ungrouped: bool = False
    """True if the table drops the axis of the groups."""
    is_figure: bool = False


@dataclass(frozen=True)
class LayoutFigure:
    """A figure of a layout. ``table`` contains its numbers: a block for each panel, a
    row for each series, a column for each point. ``range`` are the ends of its axis."""

    chart: Chart
    table: LayoutTable
    range: tuple[float, float] | None


@dataclass(frozen=True)
class LayoutFile:
    """The tables and figures of a layout. ``numbers`` and ``behind`` name hooks, or are
    empty."""

    name: str
    title: str
    note: str
    tables: tuple[LayoutTable, ...]
    figures: tuple[LayoutFigure, ...] = ()
    numbers: str = ""
    behind: str = ""


def layout_file(name: str) -> LayoutFile | None:
    """Returns the layout file of a name, or None if the name is of a function.

    The name is of an entry point, or the path of a file that ends in ``.yaml``. Raises
    UnknownNameError for an unknown name, and TaskFileError with file and line for a
    fault of the file.
    """
    path = Path(name).expanduser()
    if path.suffix == ".yaml" and path.is_file():
        return read_layout(path)
    registered: object = plugins.load("mmeval.layouts", name)
    if not isinstance(registered, ModuleType):
        return None
    file = Path(str(registered.__file__)).with_name(FILE)
    if not file.is_file():
        raise PluginError(
            f"the layout {name!r} names the package {registered.__name__}, which has "
            f"no {FILE}",
            name=name,
        )
    return _of_package(file, registered.__name__)


@cache
def _of_package(file: Path, package: str) -> LayoutFile:
    return read_layout(file, package)


def read_layout(file: Path, package: str = "") -> LayoutFile:
    """Returns a layout file. ``package`` is the package whose hooks it may name.

    Raises TaskFileError that lists all faults with their lines.
    """
    document = read_document(file)
    keys = _keys_of(document)
    problems: list[Problem] = []
    if not keys.tables:
        problems.append((("tables",), "must not be empty"))
    for hook in ("numbers", "behind"):
        problems += _hook_problems(hook, getattr(keys, hook), package)
    tables: list[LayoutTable] = []
    for position, table in enumerate(keys.tables):
        try:
            tables.append(_table(keys, table, ("tables", position)))
        except _LayoutProblem as error:
            problems.append((error.path, str(error)))
    figures: list[LayoutFigure] = []
    for position, figure in enumerate(keys.figures):
        if any(figure.name == other.table.name for other in figures):
            message = f"another figure is called {figure.name!r}"
            problems.append((("figures", position, "name"), message))
        try:
            figures.append(_figure(keys, figure, ("figures", position)))
        except _LayoutProblem as error:
            problems.append((error.path, str(error)))
    if problems:
        # tables and figures share lists, and with them the faults
        raise document.errors(list(dict.fromkeys(problems)))
    return LayoutFile(
        keys.layout,
        keys.title or keys.layout,
        keys.note,
        tuple(tables),
        tuple(figures),
        keys.numbers,
        keys.behind,
    )


class _LayoutProblem(Exception):
    """A fault at the path of a key."""

    def __init__(self, path: KeyPath, message: str) -> None:
        super().__init__(message)
        self.path = path


def _keys_of(document: Document) -> LayoutKeys:
    try:
        return LayoutKeys.model_validate(document.data)
    except ValidationError as error:
        problems = []
        for fault in error.errors(include_url=False):
            problems.append(problem_of(document, dict(fault), _unknown_key))
        raise document.errors(list(dict.fromkeys(problems))) from None


def _unknown_key(loc: SchemaPath) -> str:
    """Returns the message for an unknown key, with similar keys of its mapping."""
    schema: type[CellKeys] | Any = LayoutKeys
    for step in loc[:-1]:
        schema = INNER.get(str(step), schema)
    names = []
    for name, field in schema.model_fields.items():
        names.append(field.alias or name)
    return f"unknown key{did_you_mean(str(loc[-1]), names)}"


def _hook_problems(hook: str, value: str, package: str) -> Iterator[Problem]:
    """Yields the fault of a hook. A hook must be in the layout's own package, so that a
    layout file cannot run other code."""
    if not value:
        return
    is_own = bool(package) and value.startswith((f"{package}.", f"{package}:"))
    if not _HOOK.fullmatch(value):
        yield (hook,), f"must be package.module:function, not {value!r}"
    elif not package:
        yield (hook,), "only the layout file of a registered package has hooks"
    elif not is_own:
        yield (hook,), f"must be a function of {package}, not {value!r}"


# --- tables ---------------------------------------------------------------------------


def _table(file: LayoutKeys, table: TableKeys, path: KeyPath) -> LayoutTable:
    axes = table.axes or file.axes
    if axes is None:
        raise _LayoutProblem(path, "axes are missing")
    lists: Lists = {**file.keys, **table.keys}
    of_table = frozenset(table.keys)
    blocks = NONE if table.blocks else axes.blocks
    axis_of: dict[str, Axis] = {}
    for axis, named in (
        ("blocks", blocks),
        ("rows", axes.rows),
        ("columns", axes.columns),
    ):
        axes_path = (*path, "axes", axis) if table.axes else ("axes", axis)
        if named == MODELS:
            axis_of[axis] = "models"
        elif axis == "blocks" and named == GROUPS:
            axis_of[axis] = "groups"
        elif axis == "blocks" and named == NONE:
            axis_of[axis] = "none"
        elif named in lists:
            list_path: KeyPath = ("keys", named)
            if named in of_table:
                list_path = (*path, "keys", named)
            axis_of[axis] = _lines(lists[named], list_path)
        else:
            known = [*lists, MODELS, GROUPS]
            message = f"unknown list {named!r}{did_you_mean(named, known)}"
            raise _LayoutProblem(axes_path, message)
    if list(axis_of.values()).count("models") != 1:
        raise _LayoutProblem(path, "exactly one axis must be models")
    key = merged(file, table)
    _check_cells(key, axis_of, path)
    return LayoutTable(
        name=table.name,
        title=table.title,
        note=table.note,
        key=key,
        blocks=axis_of["blocks"],
        rows=axis_of["rows"],
        columns=axis_of["columns"],
        absent=table.absent or file.absent or "left_out",
        best=table.best or file.best,
        delta=bool(table.delta or file.delta),
        wrap=table.wrap or file.wrap,
        is_ungrouped=axes.blocks == GROUPS and blocks == NONE,
    )


def merged(*keys: CellKeys) -> CellKeys:
    """Returns what the keys say together. Later keys win."""
    values: dict[str, Any] = {}
    for part in keys:
        for name in CellKeys.model_fields:
            value = getattr(part, name)
            if value is not None:
                values[name] = value
    return CellKeys.model_construct(**values)


def lines_of(axis: Axis) -> tuple[Line | None, ...]:
    """Returns the lines of an axis; None stands for the axis of the models, of groups,
    or for no axis."""
    return axis if isinstance(axis, tuple) else (None,)


def _check_cells(key: CellKeys, axis_of: Mapping[str, Axis], path: KeyPath) -> None:
    """Raises _LayoutProblem if a cell that is not a mean has no task or number."""
    for block in lines_of(axis_of["blocks"]):
        for row in lines_of(axis_of["rows"]):
            for column in lines_of(axis_of["columns"]):
                lines = [line for line in (block, row, column) if line is not None]
                if any(line.mean is not None for line in lines):
                    continue
                cell = merged(key, *(line.key for line in lines))
                where = ", ".join(" ".join(line.headers) for line in lines)
                if cell.task is None:
                    raise _LayoutProblem(path, f"the cell {where!r} has no task")
                if cell.number is None:
                    raise _LayoutProblem(path, f"the cell {where!r} has no number")


# --- figures --------------------------------------------------------------------------


def _figure(file: LayoutKeys, figure: FigureKeys, path: KeyPath) -> LayoutFigure:
    lists = {**file.keys, **figure.keys}
    for key, named, others in (
        ("points", figure.points, ()),
        ("series", figure.series, (MODELS,)),
        ("panels", figure.panels, (NONE, MODELS, GROUPS)),
    ):
        known = [*lists, *others]
        if named not in known:
            message = f"unknown list {named!r}{did_you_mean(named, known)}"
            raise _LayoutProblem((*path, key), message)
    if figure.range is not None and not figure.range[0] < figure.range[1]:
        message = "the first end must be lower than the second"
        raise _LayoutProblem((*path, "range"), message)

    keys = TableKeys.model_construct(
        name=figure.name,
        title=figure.title,
        note=figure.note,
        axes=AxesKeys(blocks=figure.panels, rows=figure.series, columns=figure.points),
        keys=figure.keys,
        absent=figure.absent,
        **merged(figure).model_dump(),
    )
    table = _table(file, keys, path)
    for axis in (table.blocks, table.rows, table.columns):
        for line in lines_of(axis):
            if line is not None and line.key.scale not in (None, table.key.scale):
                name = " ".join(line.headers)
                message = f"{name!r} has another scale than the figure"
                raise _LayoutProblem((*path, "scale"), message)

    points = [line for line in lines_of(table.columns) if line is not None]
    if figure.chart in ("radar", "lines"):
        # a mean is not one of the corners, or of the places of a line, that it averages
        points = [line for line in points if line.mean is None]
    least, most = RADAR_CORNERS
    if figure.chart == "radar" and not least <= len(points) <= most:
        message = f"a radar has {least} to {most} corners, not {len(points)}"
        raise _LayoutProblem((*path, "points"), message)
    table = replace(table, columns=tuple(points), best=None, is_figure=True)
    return LayoutFigure(figure.chart, table, figure.range)


# --- the lines of an axis -------------------------------------------------------------


@dataclass(frozen=True)
class _Leaf:
    """An entry without nested entries, with the names of its surroundings."""

    entry: EntryKeys
    parents: tuple[EntryKeys, ...]
    path: KeyPath

    @property
    def headers(self) -> tuple[str, ...]:
        return (*(parent.header for parent in self.parents), self.entry.header)

    def is_called(self, name: str) -> bool:
        """Returns True for the entry's id, its header, or its path of headers."""
        return name in (self.entry.id, self.entry.header, "/".join(self.headers))


def _lines(entries: Sequence[EntryKeys], path: KeyPath) -> tuple[Line, ...]:
    leaves = list(_leaves(entries, (), path))
    lines = []
    for leaf in leaves:
        places = _places_of_mean(leaf, leaves)
        key = merged(*leaf.parents, leaf.entry)
        lines.append(Line(leaf.headers, key, places, leaf.entry.half_width))
    for place, leaf in enumerate(leaves):
        if _reaches(place, place, lines, set()):
            raise _LayoutProblem((*leaf.path, "mean"), "is a mean of itself")
    return tuple(lines)


def _leaves(
    entries: Sequence[EntryKeys], parents: tuple[EntryKeys, ...], path: KeyPath
) -> Iterator[_Leaf]:
    for position, entry in enumerate(entries):
        own_path = (*path, position)
        if entry.columns:
            for key in ("id", "mean", "half_width"):
                if getattr(entry, key):
                    message = "is for an entry without columns"
                    raise _LayoutProblem((*own_path, key), message)
            below = (*own_path, "columns")
            yield from _leaves(entry.columns, (*parents, entry), below)
        else:
            yield _Leaf(entry, parents, own_path)


def _places_of_mean(leaf: _Leaf, leaves: Sequence[_Leaf]) -> tuple[int, ...] | None:
    """Returns the places of the leaves that a mean averages, or None for a number.

    A name is first looked up beside the mean, then in the whole list.
    """
    mean = leaf.entry.mean
    if mean is None:
        return None
    if mean == "all":
        own = [place for place, other in enumerate(leaves) if other.entry.mean is None]
        return tuple(own)
    places = []
    for name in mean:
        called = [place for place, other in enumerate(leaves) if other.is_called(name)]
        beside = [place for place in called if leaves[place].parents == leaf.parents]
        if not called:
            known = [other.entry.id or other.entry.header for other in leaves]
            raise _LayoutProblem(
                (*leaf.path, "mean"),
                f"unknown entry {name!r}{did_you_mean(name, known)}",
            )
        if len(beside or called) > 1:
            raise _LayoutProblem(
                (*leaf.path, "mean"),
                f"{name!r} names several entries; give each of them an id",
            )
        places.append((beside or called)[0])
    return tuple(places)


def _reaches(start: int, target: int, lines: Sequence[Line], seen: set[int]) -> bool:
    """Returns True if the mean at ``start`` includes ``target``, at any depth."""
    for place in lines[start].mean or ():
        if place == target:
            return True
        if place not in seen:
            seen.add(place)
            if _reaches(place, target, lines, seen):
                return True
    return False
