import json
import os
import sys
from pathlib import Path

import pytest

from mmeval import plugins
from mmeval.__main__ import main
from mmeval.cli import doctor as command
from mmeval.doctor.finding import Finding, Section
from mmeval.prepare.sources import WantedTask
from mmeval.task.index import TaskIndex
from tests.support.cli import Ended, environment, mmeval
from tests.support.questions import write_benchmark
from tests.support.task_folder import task, write_files

OK, NOTE, BROKEN = Finding("ok", "x"), Finding("note", "x"), Finding("broken", "x")
BLOCKING = Finding("missing", "x", "mmeval prepare t", required=True)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plugins of one group alone are loaded, and no task file of a package is read."""
    plugins.entries("mmeval.tasks")  # those of all groups are remembered
    monkeypatch.setattr(plugins, "GROUPS", ("mmeval.aggregators",))
    monkeypatch.setattr("mmeval.doctor.registered.task_files", lambda _include: [])


def doctor(*flags: str | Path, **more: str) -> Ended:
    return mmeval("doctor", *flags, env=environment(**more))


@pytest.mark.usefixtures("quick")
def test_a_task_that_can_run_is_sound_and_nothing_is_written(tmp_path: Path) -> None:
    file = write_benchmark(tmp_path / "tasks", "tiny", "other") / "tiny.yaml"
    done = mmeval(
        "doctor", file, file.with_name("other.yaml"), "--model", "empty", cwd=tmp_path
    )
    assert (done.code, done.lines) == (0, [])
    assert (
        "Tasks tiny, other" in done.out.splitlines(),
        done.out.splitlines()[-1].startswith("2 of 2"),
    ) == (
        True,
        True,
    )
    assert "\x1b" not in done.out
    assert [path.name for path in tmp_path.iterdir()] == ["tasks"]


@pytest.mark.usefixtures("quick")
def test_machines_read_the_same_findings() -> None:
    done = doctor(
        "--tasks",
        "rubric_example",
        "--judge",
        "empty",
        "--model",
        "empty",
        "--format",
        "json",
    )
    document = json.loads(done.out)
    sections = {
        item["name"]: [one["what"] for one in item["findings"]]
        for item in document["sections"]
    }
    assert (done.code, document["sound"], document["mmeval"]) == (0, True, "0.1.0")
    assert list(sections) == [
        "Installation",
        "Packages",
        "Devices",
        "Programs",
        "Disks",
        "Plugins",
        "Models",
        "Task rubric_example",
        "Network",
    ]
    assert "asks the judge" in sections["Task rubric_example"]
    assert [what.partition(": ")[0] for what in sections["Models"]] == [
        "model",
        "judge",
    ]


@pytest.mark.usefixtures("quick")
def test_devices_are_checked_where_they_are_asked_for_or_a_local_model_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "mmeval.doctor.devices.devices", lambda: [Finding("ok", "a fine card")]
    )
    flags = (
        ("--model", "empty"),
        ("--devices",),
        ("--model", "hf", "--model_args", "pretrained=./gone"),
    )
    assert ["a fine card" in doctor(*given).out for given in flags] == [
        False,
        True,
        True,
    ]


def test_all_stands_for_every_task_that_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    files = {
        "a.yaml": task("a"),
        "b.yaml": task("b", "x: ["),
        "g.yaml": "group: g\ntask: [a]\n",
        "c.yaml": task("c"),
    }
    index = TaskIndex(roots=[]).with_folder(write_files(tmp_path, files), deep=True)
    monkeypatch.setattr(command, "TaskIndex", lambda _include: index)

    def sections(
        _settings: object, _specs: object, items: list[WantedTask], *, look: bool
    ) -> list[Section]:
        asked.extend(item.task.name for item in items)
        return []

    monkeypatch.setattr(command, "_sections", sections)
    assert (doctor("all").code, asked) == (0, ["a", "c"])


@pytest.mark.parametrize(
    ("sections", "words", "code", "last"),
    [
        ([Section("Disks", (OK, NOTE))], (), 0, "nothing is broken"),
        ([Section("Disks", (BROKEN,))], (), 4, "1 thing is broken"),
        ([Section("Disks", (BROKEN, BROKEN))], (), 4, "2 things are broken"),
        (
            [Section("Engine", (Finding("missing", "x", required=True),))],
            ("--engine", "ray"),
            4,
            "1 thing is broken",
        ),
        (
            [Section("Disks", (BROKEN,)), Section("Task a", (OK,))],
            ("mmmg_region_fill",),
            0,
            "1 of 1 task ",
        ),
        (
            [Section("Task a", (BLOCKING, BLOCKING))],
            ("mmmg_region_fill", "mmmg_border_fill"),
            4,
            "1 of 2 tasks ",
        ),
        ([Section(command.MODELS, (BLOCKING,))], ("mmmg_region_fill",), 4, "a "),
        (
            [Section(command.MODELS, (OK,))],
            ("--model", "empty"),
            0,
            "they can be asked",
        ),
    ],
    ids=[
        "sound",
        "broken",
        "two broken",
        "an engine",
        "a task",
        "one of two",
        "a backend",
        "no task",
    ],
)
def test_the_exit_code_and_the_last_line_sum_up(
    monkeypatch: pytest.MonkeyPatch,
    sections: list[Section],
    words: tuple[str, ...],
    code: int,
    last: str,
) -> None:
    monkeypatch.setattr(command, "_sections", lambda *_, **__: iter(sections))
    done = doctor(*words)
    assert (done.code, done.out.splitlines()[-1].startswith(last)) == (code, True), (
        done.out
    )


def test_a_terminal_is_painted_unless_that_is_not_wanted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        command, "_sections", lambda *_, **__: [Section("Disks", (OK,))]
    )
    for terminal, no_colour, painted in (
        (True, "", True),
        (True, "1", False),
        (False, "", False),
    ):
        monkeypatch.setattr(sys.stdout, "isatty", lambda terminal=terminal: terminal)
        monkeypatch.setitem(os.environ, "NO_COLOR", no_colour)
        assert main(["doctor"]) == 0
        assert ("\x1b[32m" in capsys.readouterr().out) is painted
