"""A bench to try flags and keys on: a task of three questions, a model that notes what
it is asked, and what a command left behind. Everything runs in this process."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from mmeval.__main__ import main
from mmeval.backend.capabilities import Capabilities, Limit
from mmeval.dataset.contract import Dataset, DataSource
from mmeval.metric.contract import metric
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.records.sample import Message, Sample, user
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from tests.support.readers import latest, read_numbers, read_samples
from tests.support.task_folder import with_plugins, write_rows
from tests.support.toy import PLUGINS as TOYS
from tests.support.toy import Rows, ToyLocal, asked_text, picture, reply, sample

PLUGINS = f"""{TOYS}
noting = tests.support.bench:Noting
noting_local = tests.support.bench:NotingLocal
[mmeval.prompts]
shouted = tests.support.bench:shouted
[mmeval.loaders]
one_row = tests.support.bench:one_row
[mmeval.metrics]
consented = tests.support.bench:consented
"""


class Noting:
    """Answers ``question 7`` with ``answer 7``, and with a picture where one is wanted.
    What holds ``failing`` fails, and what holds ``refusing`` is refused.

    ``requests``, ``most`` (in flight at once) and ``processes`` (that a command starts)
    are those of every instance.
    """

    requests: ClassVar[list[Request]] = []
    most: ClassVar[int] = 0
    processes: ClassVar[int] = 0
    _in_flight: ClassVar[int] = 0
    provenance: Mapping[str, Any] = {}

    def __init__(
        self, *, model: str = "noting", gives: str = "text+image", pictures: int = 9
    ) -> None:
        """``pictures`` is how many it takes."""
        self.identity = {"backend": "noting", "model": model}
        able = Capabilities.of(("text", "image"), gives.split("+"))
        self.capabilities = replace(
            able, inputs={**able.inputs, "image": Limit(max_items=pictures)}
        )

    async def generate(self, request: Request) -> Response:
        cls = type(self)
        cls.requests.append(request)
        cls._in_flight += 1
        cls.most = max(cls.most, cls._in_flight)
        await asyncio.sleep(0.001)
        cls._in_flight -= 1
        text = asked_text(request)
        if "failing" in text:
            return Response.failed("server", "as told")
        if "refusing" in text:
            return Response.failed("refused", "as told")
        if "met?" in text:
            return reply("yes")
        made = [picture(len(cls.requests))] if "image" in request.wants else []
        return reply(
            "" if "silence" in text else text.replace("question", "answer"), *made
        )

    async def close(self) -> None:
        pass


class NotingLocal(ToyLocal):
    """A local model; ``sizes`` are those of all its batches, ``made`` says how the last
    one was made."""

    sizes: ClassVar[list[int]] = []
    made: ClassVar[tuple[str, bool]] = ("", False)

    def __init__(self, *, device: str = "cpu", trust_remote_code: bool = False) -> None:
        super().__init__()
        NotingLocal.made = (device, trust_remote_code)

    def generate_batch(
        self, requests: Sequence[Request]
    ) -> Iterator[tuple[int, Response]]:
        self.sizes.append(len(requests))
        return super().generate_batch(requests)


def one_row(_source: DataSource) -> Dataset:
    """A loader that needs no files."""
    return Rows([sample(text="question of its own")])


def shouted(asked: Sample, *, mark: str = "!") -> tuple[Message, ...]:
    """A prompt that is a function."""
    return (user(f"{asked.input[0].content.text}{mark}"),)


@metric(range=(0, 1), version="1", source="made for tests")
def consented(trial: Trial, *, trust_remote_code: bool = False) -> Score:
    """1 with the user's consent to run code that a file names, unscored without."""
    return (
        Score(1.0) if trust_remote_code else Score.unscored("the code is not trusted")
    )


@dataclass
class Left:
    """What a command left behind: its exit code, what it printed, and what the model
    was asked meanwhile."""

    code: int
    out: str
    err: str
    requests: list[Request]
    runs: Path

    @property
    def asked(self) -> list[str]:
        """The last message of each request."""
        return sorted(asked_text(request) for request in self.requests)

    @property
    def results(self) -> dict[str, Any]:
        return latest(self.runs)[0]

    @property
    def values(self) -> dict[str, float | None]:
        """Each number by task and metric, as ``tiny.exact_match``."""
        return {
            f"{number.task}.{number.metric}": number.value
            for number in read_numbers(self.results)
        }

    @property
    def value(self) -> float | None:
        (value,) = self.values.values()
        return value

    def samples(self, task: str = "tiny") -> list[dict[str, Any]]:
        return read_samples(latest(self.runs)[1][task])

    def record(self, model: str = "noting", run_id: str = "default") -> dict[str, Any]:
        record: dict[str, Any] = json.loads(
            (self.runs / model / run_id / "run.json").read_text()
        )
        return record


@dataclass
class Bench:
    """A folder with the task ``tiny`` and its runs."""

    folder: Path
    patch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    @property
    def tasks(self) -> Path:
        return self.folder / "tasks"

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    def rows(
        self,
        *rows: Mapping[str, Any] | str,
        folder: str = "tasks/data",
        split: str = "test",
    ) -> None:
        """The data of the task: rows, or the words of their questions."""
        found = [
            {"input": row, "reference": row} if isinstance(row, str) else row
            for row in rows
        ]
        write_rows(
            self.folder / folder,
            *({"id": str(i), **row} for i, row in enumerate(found)),
            split=split,
        )

    def task(self, name: str = "tiny", **keys: Any) -> None:
        """A task file; ``keys`` are added to those that every task needs."""
        usual = {
            "dataset_path": "data",
            "metric_list": [{"metric": "exact_match"}],
            "metadata": {"version": 1},
        }
        self.file(name, {"task": name, **usual, **keys})

    def file(self, name: str, keys: Mapping[str, Any]) -> None:
        """A file of tasks as it is."""
        (self.tasks / f"{name}.yaml").write_text(yaml.safe_dump(dict(keys)))

    def mmeval(self, *words: str) -> Left:
        """Any command."""
        self.capsys.readouterr()
        Noting.requests, Noting.most, Noting.processes = [], 0, 0
        NotingLocal.sizes.clear()
        start = BaseProcess.start

        def counted(process: BaseProcess) -> None:
            Noting.processes += 1
            start(process)

        with self.patch.context() as patch:
            patch.setattr(BaseProcess, "start", counted)
            code = main(list(words))
        captured = self.capsys.readouterr()
        return Left(code, captured.out, captured.err, list(Noting.requests), self.runs)

    def run(self, *words: str, model: str = "noting", tasks: str = "tiny") -> Left:
        """A run without a page, which takes as long as the rest; ``words`` come last
        and so overrule."""
        usual = {
            "--model": model,
            "--tasks": tasks,
            "--include_path": str(self.tasks),
            "--output_path": str(self.runs),
            "--score_workers": "0",
            "--retry_on_error": "0",
            "--report": "false",
        }
        return self.mmeval(
            *(word for pair in usual.items() if pair[0] not in words for word in pair),
            *words,
        )


@contextmanager
def set_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Bench]:
    """The bench, with the models and metrics of the tests as plugins."""
    monkeypatch.setattr("mmeval.broker.runtime.BACKOFF_BASE", 0.0)
    with with_plugins("bench", PLUGINS):
        bench = Bench(folder, monkeypatch, capsys)
        bench.rows(
            *(
                {
                    "input": f"question {i}",
                    "reference": f"answer {i}",
                    "level": f"l{i % 2}",
                }
                for i in range(3)
            )
        )
        bench.task()
        yield bench
