import json
from pathlib import Path
from typing import Any

import pytest

from mmeval import plugins
from mmeval.cli import check as command
from mmeval.environment import devices, registered
from mmeval.findings.finding import Finding
from mmeval.task.index import TaskIndex
from tests.support.cli import Ended, mmeval
from tests.support.judges import judge, judge_server
from tests.support.questions import write_benchmark
from tests.support.task_folder import task, write_files, write_rows

MODEL = ("--model", "empty")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plugins of one group alone are loaded, no task file of a package is read, and the
    hub is not asked."""
    plugins.entries("mmeval.tasks")  # those of all groups are remembered
    monkeypatch.setattr(plugins, "GROUPS", ("mmeval.aggregators",))
    monkeypatch.setattr(registered, "task_files", lambda _include: [])
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def document(*words: str | Path) -> tuple[int, dict[str, Any]]:
    done = mmeval("check", *words, "--json")
    return done.code, json.loads(done.out)


def findings(*words: str | Path) -> list[Finding]:
    return [Finding.from_json(row) for row in document(*words)[1]["findings"]]


def first_line(done: Ended) -> str:
    return " ".join(done.out.splitlines()[0].split())


def test_with_nothing_wrong_each_task_is_one_line_and_nothing_is_written(
    tmp_path: Path,
) -> None:
    write_benchmark(tmp_path / "tasks", "one", "two")
    done = mmeval("check", "tasks", cwd=tmp_path)
    assert (done.code, done.lines) == (0, [])
    assert done.out.splitlines() == [
        "can run   one: 3 samples; exact_match",
        "can run   two: 3 samples; exact_match",
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["tasks"]


def test_with_something_wrong_what_can_run_stands_first(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "tasks", "one", "two")
    write_files(folder, {"bad.yaml": task("bad", "repeats: 0")})
    done = mmeval("check", *(folder / f"{name}.yaml" for name in ("one", "two", "bad")))
    assert (done.code, first_line(done)) == (2, "can run 2 of 2 tasks")
    assert f"{folder / 'bad.yaml'}:" in done.out


def test_programs_read_the_same_findings(tmp_path: Path) -> None:
    write_files(tmp_path, {"bad.yaml": task("bad", "repeats: 0")})
    code, found = document(tmp_path / "bad.yaml")
    (finding,) = map(Finding.from_json, found["findings"])
    assert (code, found["exit_code"], found["can_run"]) == (2, 2, [])
    assert (finding.kind, finding.subject.line) == ("task_file", 5)


def test_a_backend_that_cannot_be_made_leaves_nothing_that_can_run(
    tmp_path: Path,
) -> None:
    folder = write_benchmark(tmp_path, "one")
    code, found = document(folder, "--model", "empty", "--model_args", "colour=red")
    assert (code, found["can_run"]) == (2, [])


def test_with_a_model_the_price_is_that_of_a_dry_run(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "tasks", "one")
    done = mmeval("check", folder, *MODEL, "--limit", "2", cwd=tmp_path)
    assert done.code == 0
    assert "price     model 2 calls: 0.00 dollars" in done.out.splitlines()
    assert not (tmp_path / "runs").exists()


def test_what_would_refuse_a_run_is_found(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path, "one")
    (finding,) = findings(folder, *MODEL, "--judge", "empty")
    assert (finding.kind, finding.severity) == ("setting", "error")
    assert "judge" in finding.cause


def test_devices_are_checked_where_they_are_asked_for_or_a_local_model_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(devices, "devices", lambda: (["a fine card"], []))
    flags = (
        MODEL,
        ("--devices",),
        ("--model", "hf", "--model_args", "pretrained=./gone"),
    )
    shown = ["a fine card" in mmeval("check", *given).out for given in flags]
    assert shown == [False, True, True]


def test_all_stands_for_every_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    files = {
        "a.yaml": task("a"),
        "g.yaml": "group: g\ntask: [a]\n",
        "c.yaml": task("c"),
    }
    index = TaskIndex(roots=[]).with_folder(write_files(tmp_path, files), deep=True)
    monkeypatch.setattr("mmeval.task.index.TaskIndex", lambda _include: index)

    def check(names: tuple[str, ...], *_: object, **__: object) -> list[Finding]:
        asked.extend(names)
        return []

    monkeypatch.setattr("mmeval.authoring.task_checks.check", check)
    assert (mmeval("check", command.ALL).code, asked) == (0, ["a", "c"])


def test_a_check_that_fails_is_a_finding_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> list[Finding]:
        raise OSError("no such disk")

    monkeypatch.setattr("mmeval.environment.installation.copies", broken)
    (finding,) = [one for one in findings() if one.subject.name == "installation"]
    assert (finding.cause, finding.severity) == ("OSError: no such disk", "error")


def test_a_judge_is_asked_as_often_as_was_stated_before(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rubric = (
        'rubric_judge\n    prompt: {text: "{{ criterion }} {{ answer }}. {{ form }}"}'
    )
    text = task("t", "dataset_path: rows").replace("exact_match", rubric)
    write_files(tmp_path, {"t.yaml": text})
    rows = [
        {"input": f"q{i}", "reference": f"r{i}", "rubric": [f"wants r{i}"]}
        for i in range(3)
    ]
    write_rows(tmp_path / "rows", *rows)
    says = {f"wants r{i} r{i}.": {"met": "yes"} for i in range(3)}
    says["wants"] = {"met": "no"}
    with judge_server(tmp_path / "judge", says) as server:
        done = mmeval("check", tmp_path / "t.yaml", *judge(server), "--bounds")
        asked = server.stats()["requests"]
    assert (done.code, "1.0000|  0.0000|0.0000" in done.out) == (0, True)
    assert f"up to {asked} calls" in done.err


@pytest.mark.parametrize("words", [(), ("metrc",), ("--help",)])
def test_what_can_be_tried_is_named(words: tuple[str, ...]) -> None:
    done = mmeval("try", *words)
    assert (done.code, "metric, agent, backend" in done.error) == (2, True)


@pytest.fixture(scope="module")
def two_groups() -> str:
    return mmeval("check", "unim_hard", "mmmg_audio").out


def test_a_check_of_two_groups_fits_a_screen(two_groups: str) -> None:
    lines = two_groups.splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80


def test_what_runs_with_bundled_samples_stands_first(two_groups: str) -> None:
    assert " ".join(two_groups.split()).startswith(
        "can run with --data bundled 9 of 9 (6 without a score); with the benchmark's "
        "own data 0 of 9: mmeval prepare unim_hard mmmg_audio"
    )


def test_a_task_without_a_metric_can_run_without_a_score() -> None:
    done = mmeval("check", "ueval_art", "--data", "bundled")
    assert first_line(done) == "can run 1 of 1 tasks (1 without a score)"


def test_all_findings_are_shown_on_demand(two_groups: str) -> None:
    whole = mmeval("check", "unim_hard", "mmmg_audio", "--verbosity", "DEBUG").out
    models = ("laion/clap-htsat-unfused", "CPJKU/beat_this", "karolpiczak/ESC-50")
    assert [model in two_groups for model in models] == [False] * 3
    assert [model in whole for model in models] == [True] * 3
