import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from scripts.same_outputs import PATHS, main


def made(folder: Path, files: Mapping[str, str]) -> str:
    """A folder as ``make`` leaves it, with these files."""
    folder.mkdir()
    (folder / PATHS).write_text(json.dumps({"checkout": f"/{folder.name}/checkout", "work": f"/{folder.name}/work"}))
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return str(folder)


def compared(tmp_path: Path, before: Mapping[str, str], after: Mapping[str, str]) -> int:
    return main(["compare", made(tmp_path / "before", before), made(tmp_path / "after", after)])


TIMED = {
    "runs/results_2026-01-02T10-11-12.5.json": '{"date": 1767348672.5, "latency": 0.5}',
    "said": "2026-01-02:10:11:12 INFO     [run:94] from /before/checkout/x to /before/work/y",
}
LATER = {
    "runs/results_2027-02-03T13-14-15.6.json": '{"date": 1801660455.6, "latency": 0.25}',
    "said": "2027-02-03:13:14:15 INFO     [runner:7] from /after/checkout/x to /after/work/y",
}
JOURNAL = {"runs/journal/host-1-ab.jsonl": "1\n2\n", "runs/journal/host-2-cd.jsonl": "3\n"}


@pytest.mark.parametrize(
    ("before", "after"),
    [(TIMED, LATER), (JOURNAL, {"runs/journal/other-3-ef.jsonl": "3\n1\n2\n"})],
    ids=["times and places", "the order of a journal and its segments"],
)
def test_what_does_not_count(tmp_path: Path, before: Mapping[str, str], after: Mapping[str, str]) -> None:
    assert compared(tmp_path, before, after) == 0


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (
            {"r.json": '{"value": 0.25}'},
            {"r.json": '{"value": 0.5}'},
            ["r.json", '-{"value": 0.25}', '+{"value": 0.5}'],
        ),
        ({"page": "one"}, {"page": "one\ntwo"}, ["page", "+two"]),
        ({"page": "x", "table": "1"}, {"page": "x"}, ["table: only in "]),
        ({"page": "x"}, {"page": "x", "table": "1"}, ["table: only in "]),
        ({"a.png": "\x00"}, {"a.png": "\x01"}, ["a.png"]),
    ],
    ids=["a number", "a line more", "only before", "only after", "no text"],
)
def test_what_differs_is_shown_with_its_file(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    before: Mapping[str, str],
    after: Mapping[str, str],
    shown: list[str],
) -> None:
    assert compared(tmp_path, before, after) == 1
    printed = capsys.readouterr().out
    assert all(words in printed for words in shown)
