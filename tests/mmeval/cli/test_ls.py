from pathlib import Path

import pytest

from mmeval.__main__ import main
from mmeval.cli import ls
from tests.support.task_folder import installed
from tests.support.tiny_benchmark import write_benchmark


def listed(capsys: pytest.CaptureFixture[str]) -> dict[str, list[str]]:
    """The cells of each row by its first cell."""
    rows = [line.strip("|").split("|") for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    return {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}


@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("metrics", "wer"),
        ("backends", "reference"),
        ("loaders", "interleaved"),
        ("protocols", "episode"),
        ("aggregators", "mean"),
        ("layouts", "mmmg"),
    ],
)
def test_plugins_are_listed_by_kind(what: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", what]) == 0

    assert name in listed(capsys)


def test_what_a_plugin_is_for_is_listed_without_its_errors(capsys: pytest.CaptureFixture[str]) -> None:
    for kind in ("loaders", "backends", "protocols", "aggregators"):
        main(["ls", kind])

    assert "Raises" not in capsys.readouterr().out


def test_every_kind_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert [main(["ls", kind]) for kind in (*ls.FROM_FILES, *ls.KINDS)] == [0] * 14


def test_a_metric_shows_version_range_direction_and_needs(capsys: pytest.CaptureFixture[str]) -> None:
    main(["ls", "metrics", "wer"])

    version, span, arrow, needs, owner = listed(capsys)["wer"]
    assert (version, span, arrow, owner) == ("2", "0..∞", "↓", "mmeval")
    assert "jiwer" in needs


_ADAPTERS = """
[mmeval.hf_adapters]
toyformer = tests.support.toy_adapters:Run
unseen = tests.support.toy_adapters:Unrun
"""


def test_an_adapter_shows_what_it_is_for_and_whether_it_was_ever_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, monkeypatch, {"toys": {}}, more=_ADAPTERS):
        main(["ls", "adapters"])

    rows = listed(capsys)
    assert rows["toyformer"] == ["dist-toys", "Speaks with toys, which answer in words.", ""]
    assert rows["unseen"][-1] == "not run yet"


def test_adapters_that_were_all_run_have_no_column_of_notes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, monkeypatch, {"toys": {}}, more=_ADAPTERS):
        main(["ls", "adapters", "toyformer"])

    assert listed(capsys)["toyformer"] == ["dist-toys", "Speaks with toys, which answer in words."]


def test_a_tool_shows_what_it_makes_of_what_and_who_plays_it(capsys: pytest.CaptureFixture[str]) -> None:
    main(["ls", "tools", "text_to_image"])

    assert listed(capsys)["text_to_image"][:4] == ["text", "image", "diffusers", "mmeval"]


@pytest.mark.parametrize("pattern", ["ti*", "iny", "tiny"])
def test_tasks_are_chosen_by_a_pattern(pattern: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_benchmark(tmp_path, "tiny", "other")

    main(["ls", "tasks", pattern, "--include_path", str(folder)])

    rows = listed(capsys)
    assert "tiny" in rows
    assert "other" not in rows


def test_a_task_shows_its_version_and_the_name_of_its_licence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_benchmark(tmp_path, "base")
    more = 'metadata: {version: 2.1, license: "CC-BY-4.0; the pictures are of others"}'
    (folder / "heir.yaml").write_text(f"include: base.yaml\ntask: heir\n{more}\n")

    main(["ls", "tasks", "heir", "--include_path", str(folder)])

    rows = listed(capsys)
    assert (rows["Task"][:2], rows["heir"][:2]) == (["Version", "Licence"], ["2.1", "CC-BY-4.0"])


def test_a_broken_task_file_is_listed_with_its_line_and_the_rest_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_benchmark(tmp_path, "tiny")
    (folder / "bad.yaml").write_text("task: bad\nmetric_list: [\n")

    assert main(["ls", "tasks", "--include-path", str(folder)]) == 0

    rows = listed(capsys)
    assert "tiny" in rows
    assert "bad.yaml:" in rows["bad"][-1]


def test_a_broken_plugin_is_listed_with_its_error_and_the_rest_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from importlib.metadata import EntryPoint

    from mmeval import plugins

    broken = EntryPoint("broken", "no_such_module:thing", "mmeval.metrics")
    sound = plugins.entries("mmeval.metrics")
    claims = {entry.name: (entry,) for entry in [broken, *sound]}
    monkeypatch.setattr(plugins, "_registered", lambda: dict.fromkeys(plugins.GROUPS, claims))

    assert main(["ls", "metrics"]) == 0

    rows = listed(capsys)
    assert "No module named 'no_such_module'" in rows["broken"][-1]
    assert "wer" in rows


def test_a_kind_that_does_not_exist_is_answered_with_those_that_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", "models"]) == 2

    assert "backends" in capsys.readouterr().err


def test_the_environment_may_name_folders_with_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MMEVAL_INCLUDE_PATH", str(write_benchmark(tmp_path)))

    main(["ls", "tasks", "tiny"])

    assert "tiny" in listed(capsys)


@pytest.mark.parametrize(
    ("words", "said"), [([], "name what to list, as in 'mmeval ls tasks'"), (["metrix"], "metrics")]
)
def test_what_is_no_kind_is_answered_with_the_kinds(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ls", *words]) == 2

    error = capsys.readouterr().err
    assert said in error
    assert [kind for kind in (*ls.FROM_FILES, *ls.KINDS) if kind not in error] == []
