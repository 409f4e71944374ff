"""UniM from end to end: model, judge and captioner behind a server, on the bundled samples and on damaged data."""

from __future__ import annotations

import json
import re
import shutil
import signal
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.cli import ROOT, Ended, environment, mmeval_process, openai, results, score_files
from tests.support.killing import killed_once
from tests.support.mock_openai_server import MockServer
from tests.support.unim_judges import HonestServer, asks, honest_server

ALL_KINDS = "text+image+audio+video+document"
ANSWER = "First {letter} <<image2>>, then <<audio2>>: that makes {number}."
"""What the model says to everything, with a picture and a sound."""
LATENCY = 0.1
HUB = ROOT / "tests" / "fixtures" / "unim_hub"


class Run(NamedTuple):
    """A command that has ended, and the results that it left."""

    done: Ended
    found: Mapping[str, Any]

    def row(self, metric: str, task: str = "unim_hard") -> dict[str, Any]:
        rows: list[dict[str, Any]] = self.found["mmeval"]["results"]
        return next(row for row in rows if (row["task"], row["metric"], row["slice"]) == (task, metric, ""))

    def values(self, *metrics: str, task: str = "unim_hard") -> list[float | None]:
        return [self.row(metric, task)["value"] for metric in metrics]

    def scored(self, *metrics: str, task: str = "unim_hard") -> list[int]:
        return [self.row(metric, task)["scored"] for metric in metrics]


def words(output: Path, *flags: str | Path, tasks: str = "unim_hard") -> list[str | Path]:
    data = () if "--data_dir" in flags else ("--data", "bundled")
    return ["--tasks", tasks, *data, "--output_path", output, "--report", "false", *flags]


def run(output: Path, *flags: str | Path, tasks: str = "unim_hard") -> Run:
    return ended(output, mmeval_process(*words(output, *flags, tasks=tasks)))


def ended(output: Path, done: Ended) -> Run:
    return Run(done, results(output) if any(output.rglob("results_*.json")) else {})


def model(server: MockServer, **more: str) -> list[str]:
    return openai(server, **{"inputs": ALL_KINDS, "outputs": "text+image+audio", **more})


def judged(server: MockServer) -> tuple[str, ...]:
    """A judge and a captioner who take everything that the interface has a field for."""
    return asks(server, inputs="text+image+audio+video+document")


def score_rows(output: Path, task: str = "unim_hard") -> list[dict[str, Any]]:
    """The newest score rows of a task below a folder, of trials that have an answer."""
    newest = max(output.rglob(f"scores/{task}/*/scores.jsonl"), key=lambda path: path.stat().st_mtime_ns)
    return [row for row in map(json.loads, newest.read_text().splitlines()) if row["status"] == "ok"]


def captions(output: Path, task: str = "unim_hard") -> set[str]:
    """The words of every caption that stands behind a grade: equal media have equal ones, any others have others."""
    evidence = [row["scores"]["semantic_correctness"]["evidence"] for row in score_rows(output, task)]
    shown = [one for found in evidence for one in (*found["captions"], *found.get("reference_captions", ()))]
    return {one["text"] for one in shown if one["kind"] != "code"}


# --- the run ----------------------------------------------------------------------------------------------------------


class Whole(NamedTuple):
    """A run that nothing disturbs, its folder, and what its server was asked, by purpose and in all."""

    run: Run
    output: Path
    asked: Mapping[str, Any]

    @property
    def supported(self) -> int:
        """Samples that the model can be asked: all but those with 3D, for which its interface has no field."""
        row = self.run.row("strict_structure")
        return int(row["n"] - row["unsupported"])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    output = tmp_path_factory.mktemp("whole")
    with honest_server(reply=ANSWER) as server:
        finished = run(output, *model(server), *judged(server))
        return Whole(finished, output, {**server.stats(), **server.asked()})


# --- killed -----------------------------------------------------------------------------------------------------------

MOMENTS: Mapping[str, Callable[[HonestServer], bool]] = {
    "answers": lambda server: server.state.asked["answer"] >= 3,
    "captions": lambda server: server.state.asked["caption"] >= 4,
    "verdicts": lambda server: server.state.asked["semantic"] + server.state.asked["coherence"] >= 4,
}
"""By what is being asked when a run dies, whether it has come to that."""


def test_a_run_killed_among_answers_captions_and_verdicts_asks_nothing_twice_and_ends_the_same(
    whole: Whole, tmp_path: Path
) -> None:
    with honest_server(reply=ANSWER, latency=LATENCY) as server:
        command = words(tmp_path, *model(server), *judged(server), "--max_connections", "2")
        died = [
            killed_once(partial(reached, server), command, server, tmp_path, environment())
            for reached in MOMENTS.values()
        ]
        left = whole.asked["answered"] - server.stats()["answered"]
        last = ended(tmp_path, mmeval_process(*command))

        assert (died, last.done.code) == ([-signal.SIGKILL] * 3, 0), last.done.err
        assert left > 0, "the last kill came in the middle of the run too"
        assert server.stats()["repeated_after_answer"] == 0
        assert server.stats()["unique"] == whole.asked["unique"]
    assert list(score_files(tmp_path).values()) == list(score_files(whole.output).values())


# --- damaged data -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the data set of the tests, which holds every form and every fault that records may have."""
    return Path(shutil.copytree(HUB, tmp_path_factory.mktemp("hub") / "data"))


# --- profiles, interchange --------------------------------------------------------------------------------------------


def test_the_answers_of_other_samples_are_worse_than_the_right_ones(tmp_path: Path) -> None:
    with honest_server() as server:
        done = mmeval_process("validate", "unim_hard", "--data", "bundled", *judged(server))

    assert done.code == 0, done.err
    for metric in ("strict_structure", "lenient_structure", "semantic_correctness"):
        right, shuffled, empty = re.findall(rf"\|{metric} *\|↑ *\| *([\d.]+)\| *([\d.]+)\| *([\d.]+)\|", done.out)[0]
        assert float(empty) <= float(shuffled) < float(right) == 1.0
