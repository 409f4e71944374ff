"""The tables of UniM's paper: thirteen numbers by field, domain and other labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from mmeval.metrics.quality.sqcs import ETA
from mmeval.results import Cell, Table
from mmeval.tasks.unim.domains import DOMAINS, FIELDS, LEVELS, domain_of
from mmeval.tasks.unim.labels import CAPABILITIES
from mmeval.tasks.unim.tables.averages import Means, macro, micro
from mmeval.tasks.unim.tables.items import TITLES
from mmeval.tasks.unim.tables.pool import (
    GQ,
    HC,
    ICS,
    LES,
    SC,
    SH,
    SQCS,
    STS,
    Place,
    Pool,
    pooled,
)
from mmeval.tasks.unim.tables.remarks import OF_ITEMS, OF_MEANS_NEEDS, remarks
from mmeval.tasks.unim.tables.slices import Columns, Rows, Slice, in_order, together

if TYPE_CHECKING:
    from mmeval.results import StoredRun


class Column(NamedTuple):
    """A column: its header, its number, and the mean that it shows."""

    header: str
    number: str
    kind: Literal["tau", "absolute", "relative", "of means"] = "absolute"


class Family(NamedTuple):
    """Columns that the paper prints in one table."""

    title: str
    columns: tuple[Column, ...]

    @property
    def numbers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column.number for column in self.columns))


FAMILIES = (
    Family(
        "meaning and quality",
        (
            Column("tau", SC, "tau"),
            Column("SC", SC),
            Column("GQ", GQ),
            Column("SQCS abs", SQCS),
            Column("SQCS rel", SQCS, "relative"),
            Column("SQCS of means", SQCS, "of means"),
        ),
    ),
    Family(
        "structure",
        (
            Column("StS abs", STS),
            Column("LeS abs", LES),
            Column("StS rel", STS, "relative"),
            Column("LeS rel", LES, "relative"),
        ),
    ),
    Family(
        "coherence",
        (
            Column("HC", HC),
            Column("SH", SH),
            Column("ICS abs", ICS),
            Column("ICS rel", ICS, "relative"),
        ),
    ),
)
MODALITIES = "UniM: quality of items by modality (%)"
ALL = Family(
    "",
    tuple(
        column
        for family in FAMILIES
        for column in family.columns
        if column.kind != "of means"
    ),
)
SHORT: Mapping[str, str] = {
    SC: "SC",
    GQ: "GQ",
    SQCS: "SQCS",
    STS: "StS",
    LES: "LeS",
    HC: "HC",
    SH: "SH",
    ICS: "ICS",
}
"""Numbers by the paper's letters."""


def layout(run: StoredRun) -> Iterator[Table]:
    """Tables by field and domain for each family of numbers, and by other labels. The
    first family is always there, with tau. One table each is by difficulty, capability
    and combination, and one has the items by modality. A number without any trial has
    no column. Empty where the run has no trial of UniM."""
    pool = pooled(run)
    if not len(pool):
        return
    tables = _Tables(pool, Columns(pool), _eta(run))
    notes = remarks(run, pool, SHORT, tables.given)
    families = [
        family
        for family in FAMILIES
        if family is FAMILIES[0] or tables.given.intersection(family.numbers)
    ]
    for family in families:
        yield tables.by_field(family, notes)
        notes = ()  # they are about all tables, so they are written once
    if pool.items.columns:
        yield tables.by_modality()
    for family in families:
        yield tables.by_domain(family)
    yield tables.by_difficulty()
    if pool.capabilities:
        yield tables.by_capability()
    if pool.combinations:
        yield tables.by_combination()


class Line(NamedTuple):
    """A row of a table: each number's means, instances or domains, what they lack."""

    title: str
    means: Mapping[str, Means]
    scored: str
    lacks: str = ""


class _Tables:
    """The tables of a pool; numbers that are not ``given`` by any trial are left
    out."""

    def __init__(self, pool: Pool, columns: Columns, eta: float) -> None:
        self.given = frozenset(columns.given())
        self._pool, self._columns, self._eta = pool, columns, eta
        self._places = in_order(pool.places)

    def by_field(self, family: Family, notes: Sequence[str]) -> Table:
        """The fields by the mean of domains and of instances, and the mean of all."""
        parts = self._by_place(family)
        fields = [
            *FIELDS,
            *dict.fromkeys(
                place.field for place in self._places if place.field not in FIELDS
            ),
        ]
        lines = [
            line
            for field in fields
            if (own := [part for place, part in parts.items() if place.field == field])
            for line in self._field_lines(
                FIELDS.get(field, field), family, own, _domains_in(field, own), None
            )
        ]
        (whole,) = self._slices(family, self._columns.everything(), 1)
        total = sum(
            _domains_in(field, [place for place in parts if place.field == field])
            for field in fields
        )
        lines += self._field_lines("All", family, list(parts.values()), total, whole)
        return self._table(
            "Field", f"UniM by field: {family.title} (%)", family, lines, notes
        )

    def _field_lines(
        self,
        title: str,
        family: Family,
        parts: Sequence[Slice],
        domains: int,
        whole: Slice | None,
    ) -> Iterator[Line]:
        """A field's two lines; ``whole`` are its instances if more than its
        domains'."""
        means = {
            number: macro(part.sums[number] for part in parts)
            for number in family.numbers
        }
        scored = sum(part.whole > 0 for part in parts)
        count = f"{scored}/{domains} domains"
        yield Line(
            f"{title}: mean of domains",
            means,
            count,
            self._lacking_domains(family, parts),
        )
        yield self._line(
            f"{title}: mean of instances", family, whole or together(parts)
        )

    def by_modality(self) -> Table:
        """The mean quality of the items of each modality, over the items of all
        answers."""
        fields = list(dict.fromkeys(place.field for place in self._places))
        own = self._field_codes(fields)
        groups = [-1 if code < 0 else own[code] for code in self._pool.codes["place"]]
        items = self._pool.items
        headers = (
            "Modality",
            "Items",
            "Answers",
            "Mean",
            *(FIELDS.get(field, field) for field in fields),
            "Lacks",
        )
        rows: list[tuple[Cell, ...]] = []
        for name, title in TITLES.items():
            if name in items.columns or name in items.unavailable:
                (whole,) = items.sums(name, bytes(len(self._pool)), 1)
                parts = items.sums(name, groups, len(fields))
                means = (
                    None if mean is None else 100 * mean
                    for mean in (one.mean for one in (whole, *parts))
                )
                lacks = _lacking(
                    {"unscored": whole.unscored, "left out": whole.left_out}
                )
                lacks = lacks or ("" if name in items.columns else "unavailable")
                rows.append(
                    (title, f"{whole.known:,}", f"{whole.answers:,}", *means, lacks)
                )
        return Table(MODALITIES, headers, tuple(rows), (OF_ITEMS,), digits=1)

    def by_domain(self, family: Family) -> Table:
        """The run's domains; those of fields without instances of its levels are
        unknown."""
        lines = {
            place: self._line(_title(place), family, part)
            for place, part in self._by_place(family).items()
        }
        asked = {place.field for place in lines}
        known = {domain.name for place in lines if (domain := domain_of(place.domain))}
        levels = [level for level in LEVELS if level in self._pool.levels]
        empty = [
            Line(
                f"{one.number} {one.title}",
                {},
                "0/0",
                f"has no {' or '.join(levels)} instance",
            )
            for one in DOMAINS
            if one.field in asked
            and one.name not in known
            and levels
            and not any(map(one.count, levels))
        ]
        found = sorted([*lines.values(), *empty], key=_numbered)
        return self._table(
            "Domain", f"UniM by domain: {family.title} (%)", family, found
        )

    def by_difficulty(self) -> Table:
        levels = sorted(
            self._pool.levels,
            key=lambda level: LEVELS.index(level) if level in LEVELS else len(LEVELS),
        )
        fields = list(dict.fromkeys(place.field for place in self._places))
        lines: list[Line] = []
        own = self._slices(
            ALL, self._columns.by_label("difficulty"), len(self._pool.levels)
        )
        both = self._columns.by_difficulty_and(self._field_codes(fields))
        crossed = self._slices(ALL, both, len(levels) * len(fields))
        for level in levels:
            code = self._pool.levels[level]
            lines.append(self._line(level, ALL, own[code]))
            parts = (
                (field, crossed[code * len(fields) + at])
                for at, field in enumerate(fields)
            )
            named = (
                (f"{level}, {FIELDS.get(field, field).lower()}", part)
                for field, part in parts
            )
            lines += [
                self._line(title, ALL, part) for title, part in named if part.trials
            ]
        return self._table("Difficulty", "UniM by difficulty (%)", ALL, lines)

    def by_capability(self) -> Table:
        many = len(self._pool.capabilities)
        ways = {"": self._slices(ALL, self._columns.by_capability(soft=False), many)}
        if self._pool.weighted:
            ways[", by weight"] = self._slices(
                ALL, self._columns.by_capability(soft=True), many
            )
        known = {name: at for at, name in enumerate(CAPABILITIES)}
        names = sorted(
            self._pool.capabilities,
            key=lambda name: (known.get(name, len(known)), name),
        )
        lines = [
            self._line(
                f"{name} {CAPABILITIES.get(name, '')}".strip() + way,
                ALL,
                parts[self._pool.capabilities[name]],
            )
            for name in names
            for way, parts in ways.items()
        ]
        notes = ["An instance counts in each of its capabilities, with weight 1."]
        if self._pool.weighted:
            notes.append(
                "By weight: with the weight that the data give the capability."
            )
        return self._table("Capability", "UniM by capability (%)", ALL, lines, notes)

    def by_combination(self) -> Table:
        codes = self._pool.combinations
        parts = self._slices(ALL, self._columns.by_label("combination"), len(codes))
        lines = [self._line(name, ALL, parts[codes[name]]) for name in sorted(codes)]
        notes = [
            "Input->output, besides text: I image, V video, A audio, D document, C "
            "code, 3D."
        ]
        return self._table(
            "Combination", "UniM by combination of modalities (%)", ALL, lines, notes
        )

    # --- the slices behind them -------------------------------------------------------

    def _slices(self, family: Family, rows: Rows, many: int) -> list[Slice]:
        given = [number for number in family.numbers if number in self.given]
        return self._columns.slices(rows, many, family.numbers, given or family.numbers)

    def _by_place(self, family: Family) -> dict[Place, Slice]:
        parts = self._slices(family, self._columns.by_label("place"), len(self._places))
        return {place: parts[self._pool.places[place]] for place in self._places}

    def _field_codes(self, fields: Sequence[str]) -> list[int]:
        """The index of each place's field in ``fields``."""
        return [fields.index(place.field) for place in self._pool.places]

    def _line(self, title: str, family: Family, part: Slice) -> Line:
        means = {number: micro(part.sums[number]) for number in family.numbers}
        lacks = {
            state: getattr(part, state)
            for state in ("unsupported", "failed", "unscored", "unavailable", "bad")
        }
        return Line(title, means, f"{part.whole}/{part.trials}", _lacking(lacks))

    def _lacking_domains(self, family: Family, parts: Sequence[Slice]) -> str:
        """The numbers of domains without a value of some number, by reason."""
        asked = [part for part in parts if part.sums[family.numbers[0]].asked]
        taken = [part for part in asked if part.sums[family.numbers[0]].supported]
        numbers = [number for number in family.numbers if number in self.given]
        lost = sum(
            any(not part.sums[number].scored for number in numbers) for part in taken
        )
        return _lacking(
            {
                "unsupported": len(asked) - len(taken),
                "without a value": lost,
                "bad": len(parts) - len(asked),
            }
        )

    def _table(
        self,
        header: str,
        title: str,
        family: Family,
        lines: Sequence[Line],
        notes: Sequence[str] = (),
    ) -> Table:
        columns = [column for column in family.columns if self._is_shown(column)]
        headers = (header, *(column.header for column in columns), "Scored", "Lacks")
        rows = tuple(
            (line.title, *self._cells(columns, line), line.scored, line.lacks)
            for line in lines
        )
        return Table(title, headers, rows, tuple(notes), digits=1)

    def _is_shown(self, column: Column) -> bool:
        """Whether the run has a column's number; a note below the first table says if
        not."""
        if column.kind == "of means":
            return self.given >= OF_MEANS_NEEDS
        return column.kind == "tau" or column.number in self.given

    def _cells(self, columns: Iterable[Column], line: Line) -> Iterator[Cell]:
        for column in columns:
            value = self._value(column, line.means)
            yield None if value is None else 100 * value

    def _value(self, column: Column, means: Mapping[str, Means]) -> float | None:
        of = means.get(column.number, Means())
        if column.kind == "of means":
            meaning, quality = (
                means.get(number, Means()).absolute for number in (SC, GQ)
            )
            return (
                None
                if meaning is None or quality is None
                else meaning * (self._eta + (1 - self._eta) * quality)
            )
        return {"tau": of.tau, "absolute": of.absolute, "relative": of.relative}[
            column.kind
        ]


def _lacking(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {state}" for state, count in counts.items() if count)


def _eta(run: StoredRun) -> float:
    """The share of SQCS that does not depend on quality, in the run's switches."""
    metrics = (
        metrics.get(SQCS, {}) for metrics in run.ours.get("metrics", {}).values()
    )
    found = (metric.get("switches", {}).get("eta") for metric in metrics)
    return next((float(eta) for eta in found if isinstance(eta, int | float)), ETA)


def _domains_in(field: str, present: Sequence[object]) -> int:
    """A field's number of domains: the paper's, or more if the data name more."""
    return max(len(present), sum(one.field == field for one in DOMAINS))


def _title(place: Place) -> str:
    known = domain_of(place.domain)
    name = place.domain if known is None else f"{known.number} {known.title}"
    return (
        name
        if known is not None and known.field == place.field
        else f"{name} ({place.field})"
    )


def _numbered(line: Line) -> tuple[int, str]:
    """The sort key of domains: by their numbers, unknown ones last."""
    number = line.title.partition(" ")[0]
    return (int(number) if number.isdigit() else len(DOMAINS) + 1, line.title)
