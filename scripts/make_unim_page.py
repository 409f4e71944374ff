"""Write the tables and the picture of ``docs/reproducing/unim.md``: `python -m
scripts.make_unim_page`.

They follow from the task files, the table of domains and the published figures; text
outside of the marks is written by hand and stays.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from mmeval.report.markdown import table_lines
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose
from mmeval.tasks.unim.domains import DOMAINS, FIELDS, LEVELS
from scripts.check_unim_tables import compared, read_tables, report
from scripts.page_parts import replaced
from scripts.unim_curves import DRAWS, SCORES, TITLES, curves, picture

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reproducing" / "unim.md"
PICTURE = "unim_structure.svg"
PUBLISHED = Path(__file__).with_name("unim_published.json")
"""From the paper: its ablation of the agent (table 6)."""
TABLES = PUBLISHED.with_suffix(".csv")
"""The numbers of its tables 3 to 5 (fields) and 25 to 30 (domains)."""


def begin(part: str) -> str:
    return (
        f"<!-- {part}: made by `python -m scripts.make_unim_page`; do not change it "
        "by hand. -->"
    )


def end(part: str) -> str:
    return f"<!-- The end of {part}. -->"


def domains() -> Iterator[str]:
    """The thirty domains with their tasks, and the sums of fields and levels."""
    files = choose(["unim_domains"], TaskIndex()).tasks
    rows = [
        [
            str(one.number),
            one.title,
            f"`{one.task}`",
            FIELDS[one.field],
            *_counts(one.counts),
        ]
        for one in DOMAINS
        if one.task in files
    ]
    for field, title in (*FIELDS.items(), ("", "All")):
        own = [one.counts for one in DOMAINS if field in ("", one.field)]
        task = f"`unim_{field}`" if field else "`unim`"
        rows.append(
            [
                "",
                "",
                task,
                title,
                *_counts([sum(column) for column in zip(*own, strict=True)]),
            ]
        )
    headers = ["No.", "Domain", "Task or group", "Field", *LEVELS, "all"]
    yield from table_lines(
        headers, rows, right_aligned=frozenset({"No.", *headers[4:]})
    )


def structure() -> Iterator[str]:
    """The numbers of the curves."""
    headers = [
        "Damage",
        "Score",
        *(f"k = {point.k:+d}" if point.k else "k = 0" for point in curves()["RT"]),
    ]
    rows = []
    for damage, points in curves().items():
        for score, values in zip(
            SCORES,
            zip(*((p.strict, p.lenient) for p in points), strict=True),
            strict=True,
        ):
            rows.append(
                [TITLES[damage], score, *(f"{float(value):.3f}" for value in values)]
            )
    yield f"![Two charts of the table below: each score over k.]({PICTURE})\n"
    yield from table_lines(headers, rows, right_aligned=frozenset(headers[2:]))
    yield (
        f"\nMeans over {DRAWS} draws of each answer; whatever is drawn, the values "
        "for whole modalities are these."
    )


def deviations() -> Iterator[str]:
    """Published numbers that do not follow from other published ones."""
    yield report(list(compared(read_tables(TABLES)))).rstrip("\n")


def ablation() -> Iterator[str]:
    """The paper's ablation of its agent, each row with the effect of the missing
    part."""
    found: dict[str, dict[str, float]] = json.loads(PUBLISHED.read_text("utf-8"))[
        "ablation"
    ]
    whole = next(iter(found.values()))
    rows = [
        [
            name,
            *(
                f"{value:.1f}"
                + (f" ({value - whole[c]:+.1f})" if row is not whole else "")
                for c, value in row.items()
            ),
        ]
        for name, row in found.items()
    ]
    yield from table_lines(["Agent", *whole], rows, right_aligned=frozenset(whole))


PARTS: Mapping[str, Callable[[], Iterator[str]]] = {
    "domains": domains,
    "structure": structure,
    "deviations": deviations,
    "ablation": ablation,
}
"""The parts of the page, by the name in their marks."""


def updated(page: str) -> str:
    """A page with the current parts between its marks. Raises ValueError for a page
    without marks."""
    for part, lines in PARTS.items():
        page = replaced(page, begin(part), end(part), "\n".join(lines()))
    return page


def _counts(counts: list[int] | tuple[int, ...]) -> list[str]:
    return [f"{count:,}" for count in (*counts, sum(counts))]


def main() -> None:
    PAGE.write_text(updated(PAGE.read_text("utf-8")), "utf-8")
    PAGE.with_name(PICTURE).write_text(picture(), "utf-8")


if __name__ == "__main__":
    main()
