"""Write the tables and the pictures of quality in ``docs/metrics.md``: `python -m
scripts.make_quality_page`.

They show how each score of quality changes when a medium is damaged step by step; text
outside of the marks is written by hand and stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mmeval.report.markdown import table_lines
from scripts.page_parts import replaced
from scripts.quality.damages import PROFILES, STUDIES, Point, Study, measured
from scripts.quality.pictures import chart, gallery

PAGE = Path(__file__).resolve().parent.parent / "docs" / "metrics.md"
NONE = "N/A"
"""The sign for a missing quality."""


def begin(part: str) -> str:
    return (
        f"<!-- {part}: made by `python -m scripts.make_quality_page`; do not change "
        "it by hand. -->"
    )


def end(part: str) -> str:
    return f"<!-- The end of {part}. -->"


def files(part: str) -> tuple[str, str]:
    """A part's chart and its gallery, from the folder of the page."""
    return f"pictures/quality_{part}.svg", f"pictures/quality_{part}.png"


def title(part: str) -> str:
    return f"The quality of damaged {part} over the strength of each damage"


def lines(
    part: str, studies: Sequence[Study], points: Sequence[Sequence[Point]]
) -> Iterator[str]:
    """Chart, gallery and table of a part of the page."""
    drawn, shown = files(part)
    yield f"![{title(part)}: the numbers of the table below.]({drawn})\n"
    yield (
        f"![The damaged {part}: a row for each damage, its strength growing from left "
        f"to right.]({shown})\n"
    )
    steps = max(len(study.steps) for study in studies)
    headers = ["Damage", "", *(str(at + 1) for at in range(steps))]
    yield from table_lines(
        headers, list(_rows(studies, points)), right_aligned=frozenset(headers[2:])
    )


def _rows(
    studies: Sequence[Study], points: Sequence[Sequence[Point]]
) -> Iterator[list[str]]:
    for study, found in zip(studies, points, strict=True):
        yield [study.title, study.unit, *(f"{point.step:g}" for point in found)]
        for profile in PROFILES:
            yield [
                "",
                f"`{profile}`",
                *(_written(point.qualities[profile]) for point in found),
            ]


def _written(quality: float | None) -> str:
    return NONE if quality is None else f"{quality:.2f}"


def updated(page: str, points: Mapping[str, Sequence[Sequence[Point]]]) -> str:
    """A page with the measurements between its marks. Raises ValueError for a page
    without marks."""
    for part, studies in STUDIES.items():
        page = replaced(
            page, begin(part), end(part), "\n".join(lines(part, studies, points[part]))
        )
    return page


def main() -> None:
    points = {
        part: [measured(study) for study in studies]
        for part, studies in STUDIES.items()
    }
    PAGE.write_text(updated(PAGE.read_text("utf-8"), points), "utf-8")
    for part, studies in STUDIES.items():
        drawn, shown = files(part)
        (PAGE.parent / drawn).write_text(
            chart(title(part), studies, points[part]), "utf-8"
        )
        (PAGE.parent / shown).write_bytes(gallery(studies))


if __name__ == "__main__":
    main()
