"""The keys of layout files, with their types. Other keys are errors."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Absent = Literal["left_out", "zero"]
"""How a mean treats a number that the model cannot have: it is left out, or counts
as 0."""
Kind = Literal["absolute", "relative", "tau", "half_width"]

Chart = Literal["radar", "bars", "lines", "forest"]

MODELS = "models"
GROUPS = "groups"
NONE = "none"


class _Keys(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CellKeys(_Keys):
    """A part of a cell's key. What table, block, row and column say is put together;
    the innermost wins."""

    task: str | None = None
    number: str | None = None
    slice: str | None = None
    kind: Kind | None = None
    scale: float | None = None
    decimals: int | None = Field(default=None, ge=0, le=12)


class EntryKeys(CellKeys):
    """An entry of a list: a line of an axis, or a nested header with ``columns``, whose
    keys are inherited."""

    header: str
    id: str = ""
    mean: Literal["all"] | tuple[str, ...] | None = None
    half_width: CellKeys | None = None
    columns: tuple[EntryKeys, ...] = ()


class BestKeys(_Keys):
    """The cells of a block that are marked, compared as printed."""

    mark: Literal["bold"] = "bold"
    of: Literal["block"] = "block"
    except_rows: tuple[str, ...] = Field(default=(), alias="except")
    except_groups: tuple[str, ...] = ()


class AxesKeys(_Keys):
    """What is listed along each axis: ``models``, or a list of ``keys``.

    Blocks may also be the ``groups`` of the models.
    """

    blocks: str = NONE
    rows: str
    columns: str


Lists: TypeAlias = dict[str, tuple[EntryKeys, ...]]


class _SharedKeys(CellKeys):
    """The keys that a table has, or else the file."""

    title: str = ""
    note: str = ""
    axes: AxesKeys | None = None
    keys: Lists = {}
    absent: Absent | None = None
    best: BestKeys | None = None
    delta: Literal["first"] | None = None
    wrap: int | None = Field(default=None, ge=1)


class TableKeys(_SharedKeys):
    name: str
    blocks: Literal["none"] | None = None


class FigureKeys(CellKeys):
    """A figure with a polygon, bar, line or mark for each model, or for each entry of
    the list ``series``.

    ``points`` is the list of its corners, groups of bars, places of a line, or groups
    of marks. ``panels`` is a list with a drawing for each entry, or ``models``, or the
    ``groups`` of the models. ``range`` are the ends of the axis in the metric's own
    unit.
    """

    name: str
    chart: Chart
    title: str = ""
    note: str = ""
    points: str
    series: str = MODELS
    panels: str = NONE
    keys: Lists = {}
    absent: Absent | None = None
    range: tuple[float, float] | None = None


class LayoutKeys(_SharedKeys):
    """A layout file. ``numbers`` and ``behind`` name functions of the layout's own
    package, as ``package.module:function``."""

    layout: str
    tables: tuple[TableKeys, ...]
    figures: tuple[FigureKeys, ...] = ()
    numbers: str = ""
    behind: str = ""


INNER: dict[str, type[BaseModel]] = {
    "axes": AxesKeys,
    "best": BestKeys,
    "columns": EntryKeys,
    "figures": FigureKeys,
    "half_width": CellKeys,
    "keys": EntryKeys,
    "tables": TableKeys,
}
"""The schemas of keys whose values are mappings, or lists of mappings."""
