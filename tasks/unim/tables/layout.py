"""The tables of UniM's paper: thirteen numbers by field, domain and other labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from mmeval.metrics.quality.sqcs import ETA
from mmeval.results import Cell, Table
from mmeval.tasks.unim.domains import DOMAINS, FIELDS, LEVELS, domain_of
from mmeval.tasks.unim.labels import CAPABILITIES
from mmeval.tasks.unim.tables.averages import SliceMeans, macro, micro
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
    DomainPlace,
    Pool,
    pooled,
)
from mmeval.tasks.unim.tables.remarks import OF_ITEMS, OF_MEANS_NEEDS, remarks
from mmeval.tasks.unim.tables.slices import (
    Columns,
    Slice,
    SliceCodes,
    in_order,
    together,
)

if TYPE_CHECKING:
    from mmeval.results import StoredRun


class TableColumn(NamedTuple):
    """A column with its header, its number, and the kind of mean."""

    header: str
    number: str
    kind: Literal["tau", "absolute", "relative", "of means"] = "absolute"


class ColumnFamily(NamedTuple):
    """The columns of one of the paper's tables."""

    title: str
    columns: tuple[TableColumn, ...]

    @property
    def numbers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column.number for column in self.columns))


FAMILIES = (
    ColumnFamily(
        "meaning and quality",
        (
            TableColumn("tau", SC, "tau"),
            TableColumn("SC", SC),
            TableColumn("GQ", GQ),
            TableColumn("SQCS abs", SQCS),
            TableColumn("SQCS rel", SQCS, "relative"),
            TableColumn("SQCS of means", SQCS, "of means"),
        ),
    ),
    ColumnFamily(
        "structure",
        (
            TableColumn("StS abs", STS),
            TableColumn("LeS abs", LES),
            TableColumn("StS rel", STS, "relative"),
            TableColumn("LeS rel", LES, "relative"),
        ),
    ),
    ColumnFamily(
        "coherence",
        (
            TableColumn("HC", HC),
            TableColumn("SH", SH),
            TableColumn("ICS abs", ICS),
            TableColumn("ICS rel", ICS, "relative"),
        ),
    ),
)
MODALITIES = "UniM: quality of items by modality (%)"
ALL = ColumnFamily(
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
"""The abbreviations of the numbers in the paper."""


def layout(run: StoredRun) -> Iterator[Table]:
    """Makes the tables of a run's UniM tasks. A run without such tasks has no tables.

    Each family of numbers has a table by field and a table by domain. The tables of the
    first family, which contain tau, are always included. Further tables are by
    difficulty, by capability and by combination, and one table lists the items by
    modality. A number without trials gets no column.
    """
    pool = pooled(run)
    if not len(pool):
        return
    eta = ETA
    for metrics in run.ours.get("metrics", {}).values():
        switch = metrics.get(SQCS, {}).get("switches", {}).get("eta")
        if isinstance(switch, int | float):
            eta = float(switch)
            break
    tables = _Tables(pool, Columns(pool), eta)
    notes = remarks(run, pool, SHORT, tables.numbers)
    families = [FAMILIES[0]]
    for family in FAMILIES[1:]:
        if not tables.numbers.isdisjoint(family.numbers):
            families.append(family)
    for family in families:
        yield tables.by_field(family, notes)
        notes = ()  # the notes concern all tables, so only the first table has them
    if pool.items.columns:
        yield tables.by_modality()
    for family in families:
        yield tables.by_domain(family)
    yield tables.by_difficulty()
    if pool.capabilities:
        yield tables.by_capability()
    if pool.combinations:
        yield tables.by_combination()


class TableLine(NamedTuple):
    """A row of a table: the means of each number, and counts of instances."""

    title: str
    means: Mapping[str, SliceMeans]
    scored: str
    missing: str = ""


class _Tables:
    """Makes the tables of a pool, with the ``numbers`` that at least one trial has."""

    def __init__(
        self,
        pool: Pool,
        columns: Columns,
        eta: float,
    ) -> None:
        self.numbers = frozenset(columns.scored_numbers())
        self._pool, self._columns, self._eta = pool, columns, eta
        self._places = in_order(pool.places)
        self._fields = list(dict.fromkeys(place.field for place in self._places))
        # The field index of each place, ordered by the places' codes.
        self._field_codes = [self._fields.index(place.field) for place in pool.places]

    def by_field(self, family: ColumnFamily, notes: Sequence[str]) -> Table:
        """Makes the table of means for each field and for all fields.

        Each field has two lines: the mean of its domains and the mean of its instances.
        """
        parts = self._by_place(family)
        total = 0
        lines: list[TableLine] = []
        for field in dict.fromkeys((*FIELDS, *self._fields)):
            field_parts = [
                part for place, part in parts.items() if place.field == field
            ]
            # The paper's number of domains, or the data's number if it is larger.
            domains = [domain for domain in DOMAINS if domain.field == field]
            count = max(len(field_parts), len(domains))
            total += count
            if field_parts:
                title = FIELDS.get(field, field)
                whole = together(field_parts)
                lines += self._field_lines(title, family, field_parts, count, whole)
        (whole,) = self._slices(family, self._columns.everything(), 1)
        lines += self._field_lines("All", family, list(parts.values()), total, whole)
        title = f"UniM by field: {family.title} (%)"
        return self._table("Field", title, family, lines, notes)

    def _field_lines(
        self,
        title: str,
        family: ColumnFamily,
        parts: Sequence[Slice],
        domains: int,
        whole: Slice,
    ) -> list[TableLine]:
        """Makes the two lines of a field.

        ``parts`` are the field's domains, and ``whole`` are all instances of the field.
        """
        means = {}
        for number in family.numbers:
            means[number] = macro(part.sums[number] for part in parts)
        numbers = [number for number in family.numbers if number in self.numbers]
        scored = unsupported = lost = bad = 0
        for part in parts:
            sums = part.sums[family.numbers[0]]
            scored += part.whole > 0
            if not sums.asked:
                bad += 1
            elif not sums.supported:
                unsupported += 1
            elif not all(part.sums[number].scored for number in numbers):
                lost += 1
        missing = _counts(
            {"unsupported": unsupported, "without a value": lost, "bad": bad}
        )
        count = f"{scored}/{domains} domains"
        return [
            TableLine(f"{title}: mean of domains", means, count, missing),
            self._line(f"{title}: mean of instances", family, whole),
        ]

    def by_modality(self) -> Table:
        """Makes the table with the mean quality of items for each modality."""
        groups = []
        for code in self._pool.codes["place"]:
            groups.append(-1 if code < 0 else self._field_codes[code])
        items = self._pool.items
        fields = [FIELDS.get(field, field) for field in self._fields]
        rows: list[tuple[Cell, ...]] = []
        for name, title in TITLES.items():
            if name not in items.columns and name not in items.unavailable:
                continue
            (whole,) = items.sums(name, bytes(len(self._pool)), 1)
            means = []
            for part in (whole, *items.sums(name, groups, len(fields))):
                means.append(None if part.mean is None else 100 * part.mean)
            missing = _counts({"unscored": whole.unscored, "left out": whole.left_out})
            if name not in items.columns:
                missing = "unavailable"
            rows.append(
                (title, f"{whole.known:,}", f"{whole.answers:,}", *means, missing)
            )
        headers = ("Modality", "Items", "Answers", "Mean", *fields, "Lacks")
        return Table(MODALITIES, headers, tuple(rows), (OF_ITEMS,), digits=1)

    def by_domain(self, family: ColumnFamily) -> Table:
        """Makes the table of the domains in the run.

        The table also lists the domains that have no instances of the run's levels.
        """
        lines: list[tuple[int, TableLine]] = []
        domains_in_run = set()
        for place, part in self._by_place(family).items():
            domain = domain_of(place.domain)
            # Unknown domains come last.
            number, title, field = len(DOMAINS) + 1, place.domain, ""
            if domain is not None:
                domains_in_run.add(domain)
                number, field = domain.number, domain.field
                title = f"{number} {domain.title}"
            if field != place.field:
                title = f"{title} ({place.field})"
            lines.append((number, self._line(title, family, part)))
        levels = [level for level in LEVELS if level in self._pool.levels]
        for domain in DOMAINS:
            if domain in domains_in_run or domain.field not in self._fields:
                continue
            if levels and not any(map(domain.count, levels)):
                title = f"{domain.number} {domain.title}"
                missing = f"has no {' or '.join(levels)} instance"
                lines.append((domain.number, TableLine(title, {}, "0/0", missing)))
        lines.sort(key=lambda numbered: (numbered[0], numbered[1].title))
        title = f"UniM by domain: {family.title} (%)"
        return self._table("Domain", title, family, [line for _, line in lines])

    def by_difficulty(self) -> Table:
        numbered = self._pool.levels
        rows = self._columns.by_label("difficulty")
        parts = self._slices(ALL, rows, len(numbered))
        rows = self._columns.by_difficulty_and(self._field_codes)
        crossed = self._slices(ALL, rows, len(numbered) * len(self._fields))
        others = [level for level in numbered if level not in LEVELS]
        lines: list[TableLine] = []
        for level in (*LEVELS, *others):
            if level not in numbered:
                continue
            code = numbered[level]
            lines.append(self._line(level, ALL, parts[code]))
            for place, field in enumerate(self._fields, code * len(self._fields)):
                if crossed[place].trials:
                    title = f"{level}, {FIELDS.get(field, field).lower()}"
                    lines.append(self._line(title, ALL, crossed[place]))
        return self._table("Difficulty", "UniM by difficulty (%)", ALL, lines)

    def by_capability(self) -> Table:
        numbered = self._pool.capabilities
        rows = self._columns.by_capability(soft=False)
        variants = {"": self._slices(ALL, rows, len(numbered))}
        notes = ["An instance counts in each of its capabilities, with weight 1."]
        if self._pool.weighted:
            rows = self._columns.by_capability(soft=True)
            variants[", by weight"] = self._slices(ALL, rows, len(numbered))
            notes.append(
                "By weight: each instance has the capability's weight in the data."
            )
        others = sorted(name for name in numbered if name not in CAPABILITIES)
        lines = []
        for name in (*CAPABILITIES, *others):
            if name not in numbered:
                continue
            title = f"{name} {CAPABILITIES.get(name, '')}".strip()
            for variant, parts in variants.items():
                lines.append(self._line(title + variant, ALL, parts[numbered[name]]))
        return self._table("Capability", "UniM by capability (%)", ALL, lines, notes)

    def by_combination(self) -> Table:
        codes = self._pool.combinations
        parts = self._slices(ALL, self._columns.by_label("combination"), len(codes))
        lines = []
        for name in sorted(codes):
            lines.append(self._line(name, ALL, parts[codes[name]]))
        notes = [
            "Input->output besides text: I image, V video, A audio, D document, "
            "C code, 3D."
        ]
        return self._table(
            "Combination", "UniM by combination of modalities (%)", ALL, lines, notes
        )

    # --- slices and lines -------------------------------------------------------------

    def _slices(
        self,
        family: ColumnFamily,
        codes: SliceCodes,
        count: int,
    ) -> list[Slice]:
        required = [number for number in family.numbers if number in self.numbers]
        required = required or list(family.numbers)
        return self._columns.slices(codes, count, family.numbers, required)

    def _by_place(self, family: ColumnFamily) -> dict[DomainPlace, Slice]:
        parts = self._slices(family, self._columns.by_label("place"), len(self._places))
        return {place: parts[self._pool.places[place]] for place in self._places}

    def _line(
        self,
        title: str,
        family: ColumnFamily,
        part: Slice,
    ) -> TableLine:
        means = {number: micro(part.sums[number]) for number in family.numbers}
        states = ("unsupported", "failed", "unscored", "unavailable", "bad")
        missing = _counts({state: getattr(part, state) for state in states})
        return TableLine(title, means, f"{part.whole}/{part.trials}", missing)

    def _table(
        self,
        header: str,
        title: str,
        family: ColumnFamily,
        lines: Sequence[TableLine],
        notes: Sequence[str] = (),
    ) -> Table:
        columns = []
        for column in family.columns:
            # A note below the first table lists the numbers that the run lacks.
            if column.kind == "of means":
                is_shown = self.numbers >= OF_MEANS_NEEDS
            else:
                is_shown = column.kind == "tau" or column.number in self.numbers
            if is_shown:
                columns.append(column)
        rows: list[tuple[Cell, ...]] = []
        for line in lines:
            cells: list[Cell] = [line.title]
            meaning = line.means.get(SC, SliceMeans()).absolute
            quality = line.means.get(GQ, SliceMeans()).absolute
            for column in columns:
                value: float | None = None
                if column.kind != "of means":
                    of_number = line.means.get(column.number, SliceMeans())
                    value = getattr(of_number, column.kind)
                elif meaning is not None and quality is not None:
                    value = meaning * (self._eta + (1 - self._eta) * quality)
                cells.append(None if value is None else 100 * value)
            rows.append((*cells, line.scored, line.missing))
        headers = (header, *[column.header for column in columns], "Scored", "Lacks")
        return Table(title, headers, tuple(rows), tuple(notes), digits=1)


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {state}" for state, count in counts.items() if count)
