from pathlib import Path

import pytest

from mmeval.__main__ import main
from mmeval.cli import ls
from tests.support.questions import write_benchmark


@pytest.mark.parametrize("kind", (*ls.FROM_FILES, *ls.KINDS))
def test_every_kind_is_listed_in_at_most_100_columns(
    kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert main(["ls", kind]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 100


@pytest.mark.parametrize("kind", ["metrics", "backends"])
def test_a_list_fits_a_narrower_terminal(
    kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    main(["ls", kind])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 70


def test_a_metric_that_is_named_is_listed_with_the_names_of_its_models(
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = "alefiury/wav2vec2-large-xlsr-53-gender-recognition-librispeech"
    main(["ls", "metrics", "pitch_band"])
    assert model in capsys.readouterr().out


@pytest.mark.parametrize(("pattern", "is_whole"), [("isg_agent", True), ("*", False)])
def test_an_agent_that_is_named_is_listed_with_all_its_roles(
    pattern: str, is_whole: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["ls", "backends", pattern])
    assert ("[image_morph]" in capsys.readouterr().out) is is_whole


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


def test_a_tag_that_is_named_is_listed_with_all_its_tasks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["ls", "tags", "mmmg_leaderboard"])
    assert capsys.readouterr().out.count(", ") == 12


@pytest.mark.parametrize(("pattern", "is_described"), [("wer", True), ("we*", False)])
def test_a_metric_that_is_named_is_described(
    pattern: str, is_described: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["ls", "metrics", pattern])
    assert ("- `normalise`" in capsys.readouterr().out) is is_described
