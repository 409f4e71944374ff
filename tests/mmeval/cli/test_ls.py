from pathlib import Path

import pytest

from mmeval.__main__ import main
from mmeval.cli import ls
from tests.support.questions import write_benchmark


def test_every_kind_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert [main(["ls", kind]) for kind in (*ls.FROM_FILES, *ls.KINDS)] == [0] * 14


@pytest.mark.parametrize("pattern", ["ti*", "iny", "tiny"])
def test_tasks_of_a_folder_of_the_environment_are_chosen_by_a_pattern(
    pattern: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(
        "MMEVAL_INCLUDE_PATH", str(write_benchmark(tmp_path, "tiny", "other"))
    )
    main(["ls", "tasks", pattern])
    rows = [
        line.split("|")[1].strip()
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("|")
    ]
    assert ("tiny" in rows, "other" in rows) == (True, False)


def test_without_a_pattern_benchmarks_are_listed_and_a_star_lists_all_tasks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = []
    for pattern in ((), ("*",)):
        main(["ls", "tasks", *pattern])
        found.append(
            [
                line.split("|")[1].strip()
                for line in capsys.readouterr().out.splitlines()
                if "|" in line
            ]
        )
    assert [("unim" in names, "unim_hard" in names) for names in found] == [
        (True, False),
        (False, True),
    ]


def test_tags_fit_a_terminal_and_one_that_is_named_comes_with_all_its_tasks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["ls", "tags"])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 100
    main(["ls", "tags", "mmmg_leaderboard"])
    (row,) = (
        line for line in capsys.readouterr().out.splitlines() if "leaderboard" in line
    )
    assert row.count(", ") == 12


@pytest.mark.parametrize(("pattern", "is_described"), [("wer", True), ("we*", False)])
def test_a_metric_that_is_named_is_described(
    pattern: str, is_described: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["ls", "metrics", pattern])
    assert ("- `normalise`" in capsys.readouterr().out) is is_described
