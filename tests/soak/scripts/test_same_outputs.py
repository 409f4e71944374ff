from __future__ import annotations

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


def test_a_changed_number_is_shown_with_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compared(tmp_path, {"r.json": '{"n": 1, "value": 0.25}'}, {"r.json": '{"n": 1, "value": 0.5}'}) == 1

    shown = capsys.readouterr().out
    assert "r.json" in shown
    assert '-{"n": 1, "value": 0.25}' in shown
    assert '+{"n": 1, "value": 0.5}' in shown


@pytest.mark.parametrize("owner", ["before", "after"])
def test_a_file_that_one_folder_lacks_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str], owner: str) -> None:
    files = {"before": {"page": "x"}, "after": {"page": "x"}}
    files[owner]["table"] = "1"

    assert compared(tmp_path, **files) == 1
    assert capsys.readouterr().out == f"table: only in {tmp_path / owner}\n"


def test_a_line_after_the_end_of_the_other_file_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compared(tmp_path, {"page": "one"}, {"page": "one\ntwo"}) == 1
    assert "+two" in capsys.readouterr().out


def test_bytes_that_are_no_text_are_compared(tmp_path: Path) -> None:
    before, after = made(tmp_path / "before", {}), made(tmp_path / "after", {})
    Path(before, "a.png").write_bytes(b"\xff\x00")
    Path(after, "a.png").write_bytes(b"\xff\x01")

    assert main(["compare", before, after]) == 1


def test_times_durations_and_places_do_not_count(tmp_path: Path) -> None:
    before = {
        "runs/results_2026-01-02T10-11-12.5.json": '{"date": 1767348672.5, "latency": 0.5}',
        "said": "2026-01-02:10:11:12 INFO     [run:94] from /before/checkout/x to /before/work/y",
    }
    after = {
        "runs/results_2027-02-03T13-14-15.6.json": '{"date": 1801660455.6, "latency": 0.25}',
        "said": "2027-02-03:13:14:15 INFO     [runner:7] from /after/checkout/x to /after/work/y",
    }

    assert compared(tmp_path, before, after) == 0


def test_the_order_of_a_journal_and_its_segments_do_not_count(tmp_path: Path) -> None:
    before = {"runs/journal/host-1-ab.jsonl": "1\n2\n", "runs/journal/host-2-cd.jsonl": "3\n"}

    assert compared(tmp_path, before, {"runs/journal/other-3-ef.jsonl": "3\n1\n2\n"}) == 0
