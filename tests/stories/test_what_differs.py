"""Runs that differ in something besides their model: each difference has its own word,
with the run that it concerns."""

import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import QUIET, mmeval, openai
from tests.support.mock_openai_server import MockServer
from tests.support.task_folder import write_rows

ROWS = 12
TASK = """\
task: greet
dataset_path: data
{more}metric_list:
  - metric: {metric}
metadata: {{version: 1}}
"""
JUDGE = """\
import json, sys

def say(kind, **fields):
    print(json.dumps({{"type": kind, **fields}}), flush=True)

say("hello", protocol=1, name="j", takes=["text"], gives=["text"], mode="single")
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "load":
        say("ready")
    elif message["type"] == "generate":
        for row, _ in enumerate(message["rows"]):
            text = json.dumps({{"reason": "so", "met": "{met}"}})
            parts = [{{"kind": "text", "text": text}}]
            say("answer", id=message["id"], row=row, parts=parts)
        say("done", id=message["id"])
    else:
        break
"""


class Runs:
    """Runs of the task ``greet`` in a folder, by the model of a server."""

    def __init__(self, folder: Path, *, metric: str = "exact_match") -> None:
        self.folder, self._metric = folder, metric
        write_rows(
            folder / "data",
            *(
                {
                    "id": f"{number}",
                    "input": f"Greet guest {number % 2}{number}.",
                    "reference": "Hello",
                    "rubric": ["It greets."],
                }
                for number in range(ROWS)
            ),
        )

    def run(self, server: MockServer, name: str, *flags: str, more: str = "") -> Path:
        """Ask the task once; ``more`` is added to its file."""
        task = self.folder / "greet.yaml"
        task.write_text(TASK.format(metric=self._metric, more=more))
        done = mmeval(
            *("--tasks", task, "--output_path", self.folder / "runs"),
            *("--run_id", name, *openai(server), *QUIET, *flags),
            *("--retry_on_error", "0"),
        )
        assert done.code in (0, 3), done.err
        return self.folder / "runs/m" / name


@contextmanager
def model(folder: Path, **options: Any) -> Iterator[MockServer]:
    """A model that greets."""
    folder.mkdir(exist_ok=True)
    file = folder / "model.jsonl"
    file.write_text(json.dumps({"reply": "Hello"}) + "\n")
    with MockServer(replies=str(file), **options) as server:
        yield server


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def compared(*words: str | Path) -> dict[str, Any]:
    done = mmeval("compare", *words, "--report", "false", "--format", "json")
    found: dict[str, Any] = json.loads(done.out)
    return found


def changed(found: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    return {row["what"]: (row["before"], row["now"]) for row in found["changed"]}


def text(*words: str | Path) -> str:
    done = mmeval("compare", *words, "--report", "false")
    return " ".join(done.out.split())


def test_another_judge_behind_one_name_is_not_blamed_on_the_model(
    tmp_path: Path,
) -> None:
    runs = Runs(tmp_path, metric="rubric_judge")
    folders = []
    with model(tmp_path) as server:
        for met in ("yes", "no"):
            worker = tmp_path / met / "judge.py"
            worker.parent.mkdir()
            worker.write_text(JUDGE.format(met=met))
            command = f'process,command="{sys.executable} {worker}",name=j'
            folders.append(runs.run(server, met, "--judge", command))
    found = compared(*folders)
    (number,) = found["numbers"]
    assert (number["verdict"], "judge" in number["why"]) == ("unlike", True)
    assert changed(found).keys() == {"judge"}
    assert compared(*folders, "--across", "judge")["numbers"][0]["verdict"] == "worse"


def test_a_template_of_the_same_words_leaves_all_pairs(runs: Runs) -> None:
    with model(runs.folder) as server:
        plain = runs.run(server, "plain")
        other = runs.run(server, "other", more='prompt: "{{ input }}"\n')
    assert compared(plain, other)["numbers"][0]["pairs"] == ROWS


@pytest.mark.parametrize(
    "flags",
    [
        ("--gen_kwargs", "temperature=0.7"),
        ("--system_instruction", "Be kind."),
        ("--seed", "7"),
    ],
    ids=["parameters", "system instruction", "seed"],
)
def test_what_differs_between_models_leaves_all_pairs(
    flags: tuple[str, ...], runs: Runs
) -> None:
    with model(runs.folder) as server:
        plain = runs.run(server, "plain")
        other = runs.run(server, "other", *flags)
    assert compared(plain, other)["numbers"][0]["pairs"] == ROWS


@pytest.mark.parametrize("what", ["samples", "scores"])
def test_a_damaged_line_is_named_with_its_run(what: str, runs: Runs) -> None:
    with model(runs.folder) as server:
        whole = runs.run(server, "whole")
    torn = whole.with_name("torn")
    shutil.copytree(whole, torn)
    (file,) = (file for file in torn.rglob("*.jsonl") if what in str(file))
    lines = file.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b'"i":', b'"i": ')
    file.write_bytes(b"".join(lines))
    for folders, lacking in (((whole, torn), "b"), ((torn, whole), "a")):
        found = compared(*folders)
        (number,) = found["numbers"]
        assert number["left_out"] == {"damaged": 1}
        assert number["lacking"][lacking] == {"damaged": 1}
        assert changed(found).keys() == {"damaged records"}
    assert f"damaged records none -> 1 of {what}" in text(whole, torn)


def test_runs_of_several_seeds_count_as_one_run_of_more_repeats(runs: Runs) -> None:
    with model(runs.folder) as server:
        sides = [
            [runs.run(server, f"{side}{seed}", "--seed", seed) for seed in "123"]
            for side in "ab"
        ]
    words = [
        f"{name}={','.join(map(str, folders))}"
        for name, folders in zip(("old", "new"), sides, strict=True)
    ]
    found = compared(*words)
    (number,) = found["numbers"]
    assert (number["pairs"], number["clusters"]) == (3 * ROWS, ROWS)
    assert [row["name"] for row in found["runs"]] == ["old", "new"]


def test_runs_of_other_settings_are_no_repeats(runs: Runs) -> None:
    with model(runs.folder) as server:
        first = runs.run(server, "first")
        other = runs.run(server, "other", "--gen_kwargs", "temperature=0.7")
    refused = mmeval("compare", first, f"new={first},{other}", "--report", "false")
    assert refused.code == 2
    assert "task file of greet" in refused.error


def test_two_runs_of_one_name_are_refused(runs: Runs) -> None:
    with model(runs.folder) as server:
        first = runs.run(server, "first")
        other = runs.run(server, "other")
    words = (f"m={first}", f"m={other}")
    refused = mmeval("compare", *words, "--report", "false")
    assert (refused.code, "two runs have the name m" in refused.error) == (2, True)
