"""Faults of a run, and what each command says of them as findings.

A fault is a small folder: a task, its rows, perhaps a model behind a stand-in server.
Each of ``DOORS`` shows it. What a run found in its answers, spent of its budget and
lost of its journal is in its folder; ``check`` (with the flags of the run) and the dry
run read it there, so all doors know each fault once there is a run. A run that its
budget stops has no results; its error states the finding.
"""

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mmeval.findings.finding import Finding, Kind
from mmeval.findings.render import RemedyTarget
from tests.support.cli import Ended, environment, mmeval, results, run_folder
from tests.support.readers import Report
from tests.support.servers import (
    FakeHub,
    Repositories,
    Scripted,
    ScriptedServer,
    at_hub,
    saying,
)
from tests.support.task_folder import write_files, write_rows

DOORS = ("check", "dry run", "score", "page", "run")
GOOD = {"id": "a", "input": "1 + 1", "reference": "2", "gender": "male"}
OTHER = {"id": "b", "input": "1 + 1 =", "reference": "2"}
COMMIT = "0a" * 20
TWO = saying(content="2")
YES = saying(content="yes")
CUT_OFF = Scripted(
    {"choices": [{"message": {"content": "2"}, "finish_reason": "length"}]}
)
FILLED = {
    "NAME": "m",
    "N": "1000",
    "OPEN,CLOSE": "<hm>,</hm>",
    "BACKEND": "openai,model=m",
    "FOLDER": "mine",
}
"""What a person writes in the place of a word in capitals."""


@dataclass(frozen=True)
class Fault:
    """A fault of one ``kind``. ``answers`` are those of the served model, or with
    ``model`` reference those of a judge. ``absent`` is a package that seems not to be
    installed. ``spoil`` is what happens after the run. ``seen`` is the first door that
    shows the fault. ``follows`` is a kind of which only a scoring has findings: what it
    lacks because of the fault."""

    kind: Kind
    metrics: str = ""
    outputs: str = "text"
    rows: tuple[dict[str, Any], ...] = ()
    model: str = "reference"
    answers: tuple[Scripted, ...] = (YES,)
    flags: str = ""
    absent: str = ""
    tasks: str = "t.yaml"
    files: dict[str, str] = field(default_factory=dict)
    spoil: Callable[["Scene"], object] = lambda here: None
    seen: str = "results"
    follows: str = ""


def task_text(name: str, data: str, metrics: str = "", outputs: str = "text") -> str:
    return (
        f"task: {name}\ndataset_path: {data}\noutput_modalities: [{outputs}]\n"
        f"metric_list:\n  - metric: exact_match\n{metrics}metadata: {{version: 1}}\n"
    )


def damage(here: "Scene") -> None:
    """Cut a record in the middle of a run's journal."""
    (segment,) = here.run_folder.glob("journal/*.jsonl")
    first, *rest = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(first[: len(first) // 2] + b"\n" + b"".join(rest))


NO_JUDGE = "  - metric: judge_yes_no\n"
TEN: dict[str, Fault] = {
    "no judge": Fault("missing_role", NO_JUDGE),
    "no extra": Fault(
        "missing_extra",
        "  - metric: hf_evaluate\n    name: bleu\n    higher_is_better: true\n",
        absent="evaluate",
    ),
    "no weights": Fault(
        "missing_weights",
        "  - metric: speaker_gender\n    model: me/voice\n",
        seen="check",
    ),
    "no data": Fault(
        "missing_data",
        tasks="both.yaml",
        seen="check",
        files={
            "u.yaml": task_text("u", f"me/sums\nrevision: {COMMIT}"),
            "both.yaml": "group: both\ntask: [t, u]\nmetadata: {version: 1}\n",
        },
    ),
    "a bad row": Fault("bad_sample", rows=({"id": "b"},)),
    "a tag without its medium": Fault(
        "bad_sample", rows=({**OTHER, "input": "look: <<image1>>"},)
    ),
    "refused": Fault(
        "refused",
        model="openai",
        answers=(saying(content=None, refusal="I would rather not."),),
    ),
    "cut off": Fault("cut_off", model="openai", answers=(CUT_OFF, TWO)),
    "a spent budget": Fault(
        "budget",
        rows=(OTHER,),
        model="openai",
        answers=(TWO,),
        flags="--budget_calls 1",
        seen="score",
    ),
    "a damaged journal": Fault(
        "damaged",
        rows=(OTHER,),
        model="openai",
        answers=(TWO,),
        spoil=damage,
        seen="score",
        follows="failed",
    ),
}
HUB: Repositories = {"me/sums": {COMMIT: {"test.jsonl": json.dumps(GOOD).encode()}}}
MODELS: Repositories = {
    "me/voice": {
        COMMIT: {
            "config.json": b"{}",
            "preprocessor_config.json": b"{}",
            "model.safetensors": b"weights",
        }
    }
}


class Scene:
    """A folder with a fault, in which a run was made. ``added`` are flags that its
    command is given from now on."""

    def __init__(self, folder: Path, fault: Fault, url: str) -> None:
        self.folder, self.fault, self.added = folder, fault, list[str]()
        args = "--model_args model=m" if fault.model == "openai" else ""
        self.flags = shlex.split(
            f"--model {fault.model} {args} -o runs --score_workers 0 "
            f"--max_connections 1 {fault.flags}"
        )
        self.env = environment(
            HF_HOME=str(folder),
            OPENAI_BASE_URL=url,
        )
        text = task_text("t", "rows", fault.metrics, fault.outputs)
        write_files(folder, {"t.yaml": text, **fault.files})
        write_rows(folder / "rows", GOOD, *fault.rows)
        self.run()
        fault.spoil(self)

    @property
    def run_folder(self) -> Path:
        name = "m" if self.fault.model == "openai" else self.fault.model
        return run_folder(self.folder / "runs", name)

    def command(self, *words: str | Path) -> Ended:
        return mmeval(*words, cwd=self.folder, env=self.env)

    def run(self, *more: str) -> Ended:
        words = ("--tasks", self.fault.tasks, *self.flags, *self.added)
        return self.command("run", *words, *more)

    def score(self, *more: str) -> Ended:
        return self.command("score", self.run_folder, "--score_workers", "0", *more)

    def findings(self, door: str, expected: Iterable[Finding] = ()) -> list[Finding]:
        """What a door shows, in one order for all doors, without what follows from the
        fault. ``expected`` is what is looked for in the error of a run that is
        stopped."""
        found = self._at(door, expected)
        return sorted((one for one in found if one.kind != self.fault.follows), key=str)

    def of_kind(self, door: str) -> list[Finding]:
        """What a door shows of the kind of the fault."""
        return [one for one in self.findings(door) if one.kind == self.fault.kind]

    def _at(self, door: str, expected: Iterable[Finding]) -> Iterable[Finding]:
        if door == "check":
            done = self.command(
                "check", self.fault.tasks, "--json", *self.flags, *self.added
            )
            return records(json.loads(done.out)["findings"])
        if door == "dry run":
            done = self.run("--dry_run", "--format", "json")
            return records(json.loads(done.out)["findings"])
        if door == "page":
            (of_page,) = Report(self.run_folder / "report").index["runs"]
            return records(of_page["findings"])
        if door == "score":
            self.score()
        if door == "run":
            stopped = "error: " in (done := self.run()).err
            if stopped:  # there are no results: the error states why
                return stated(done.err, expected)
        return records(results(self.folder)["mmeval"]["findings"])

    def apply(self, remedy: str) -> Ended:
        """Do what a remedy says: run a command, or the run with more flags."""
        place = RemedyTarget(self.fault.tasks, str(self.run_folder))
        words = [filled(word) for word in shlex.split(place.command(remedy))]
        if words[0] == "mmeval":
            return self.command(*words[1:])
        assert words[0].startswith("--"), remedy
        self.added += words
        return self.run()


@contextmanager
def scene(folder: Path, fault: Fault) -> Iterator[Scene]:
    """A fault in a folder, without a network."""
    with (
        ScriptedServer(*fault.answers) as server,
        at_hub("http://127.0.0.1:9", folder, offline=True),
        pytest.MonkeyPatch.context() as patched,
    ):
        if fault.absent:
            patched.setitem(sys.modules, fault.absent, None)
        yield Scene(folder, fault, server.url)


@contextmanager
def with_hub(folder: Path) -> Iterator[None]:
    """The hub can be reached, and has the data and the weights of the faults."""
    with FakeHub(HUB, models=MODELS) as hub, at_hub(hub.url, folder):
        yield


def filled(word: str) -> str:
    return re.sub(r"[A-Z]{3,},?[A-Z]*|\bN\b", lambda found: FILLED[found[0]], word)


def records(rows: Iterable[dict[str, Any]]) -> list[Finding]:
    return [Finding.from_json(row) for row in rows]


def stated(text: str, expected: Iterable[Finding]) -> list[Finding]:
    """Those of some findings whose causes are in a text."""
    words = " ".join(text.split())
    return [one for one in expected if " ".join(one.cause.split()) in words]
