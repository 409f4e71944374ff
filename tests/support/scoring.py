"""Scoring in tests: metrics that open models, trials as the lines that scoring gets, and
the rows that come of them."""

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from mmeval.media.parts import Interleaved
from mmeval.metric.bound import bind
from mmeval.metric.contract import metric
from mmeval.metric.model import HubModel, loaded, model_folder
from mmeval.metric.scoring.scorer import Scorer
from mmeval.metric.scoring.trial_rows import ScoringPlan, trial_line
from mmeval.records.response import Response
from mmeval.records.sample import Sample
from mmeval.records.score import Score
from mmeval.records.trial import Exchange, Trial
from mmeval.system.json_lines import to_line, unsealed
from tests.support.cli import ROOT, environment
from tests.support.questions import write_task
from tests.support.task_folder import write_distribution, write_files
from tests.support.toy import reply, sample

# Metrics that open models, as an installed distribution that other processes see. The
# models are small files. ``weighed`` scores the length of the weights, ``batched``
# many answers at once; both note what they do in the file that ``TOY_NOTES`` names:
# ``load PID DEVICE``, ``batch PID COUNT``. What ``batched`` does with an answer, the
# answer says.

COMMIT = "c" * 40
FILES = ("config.json", "model.safetensors|pytorch_model.bin")
Model = str | Mapping[str, Any]
BATCH = 4
MODEL = {"config.json": "{}", "model.safetensors": "weights"}


@metric(range=(0, 100), version="1", source="test")
def weighed(
    trial: Trial, *, model: Annotated[Model, HubModel(FILES)] = f"me/scorer@{COMMIT}"
) -> float:
    """The length of the weights."""
    return float((model_folder(model) / "model.safetensors").stat().st_size)


@metric(range=(0, 1), version="1", source="test", batch=BATCH)
def batched(
    trials: Sequence[Trial],
    *,
    model: Annotated[Model, HubModel(FILES)] = "me/scorer",
    most: int = 99,
) -> Any:
    """1 where the answer has the word yes. More than ``most`` answers do not fit into
    memory."""
    note("batch", len(trials))
    words = loaded(model, _load)
    if len(trials) > most:
        raise RuntimeError("CUDA out of memory. Tried to allocate more")
    return [
        _score(trial.output.words if trial.output else "", words) for trial in trials
    ]


def _load(folder: Path, device: str) -> str:
    note("load", device)
    # a model that takes its time to load
    time.sleep(float(os.environ.get("TOY_LOADING", "0")))
    return (folder / "config.json").read_text()


def _score(text: str, loaded_words: str) -> Score:
    if "raise" in text:
        raise ValueError("no such luck")
    if "die" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    if "slow" in text:
        time.sleep(float(text.rsplit(maxsplit=1)[-1]))  # a metric that takes its time
    if "hang" in text:
        time.sleep(60)  # a metric that never ends
    if "held" in text:
        Path(os.environ["TOY_GATE"]).read_text()  # a pipe: until a test writes into it
    return Score(float("yes" in text), evidence={"config": loaded_words})


def note(*words: object) -> None:
    if name := os.environ.get("TOY_NOTES"):
        with open(name, "a") as file:  # noqa: PTH123  one write, however many processes there are
            file.write(" ".join(map(str, (words[0], os.getpid(), *words[1:]))) + "\n")


class Note(NamedTuple):
    what: str
    process: int
    more: str


def notes(file: Path, what: str) -> list[Note]:
    """What the metrics have noted of one kind."""
    lines = file.read_text().splitlines() if file.exists() else []
    split = (line.split(" ", 2) for line in lines)
    return [
        Note(kind, int(process), more) for kind, process, more in split if kind == what
    ]


def registered(folder: Path) -> str:
    """Register the metrics by a distribution in a folder; the value of PYTHONPATH under
    which they are found."""
    names = "".join(
        f"{name} = tests.support.scoring:{name}\n" for name in ("weighed", "batched")
    )
    write_distribution(folder, "dist-weighed", f"[mmeval.metrics]\n{names}")
    return f"{folder}:{ROOT}"


ROWS = 24


class Runs:
    """A task of ``ROWS`` questions whose answers a model scores."""

    def __init__(self, folder: Path, answer: str = "yes") -> None:
        self.folder, self.notes_file = folder, folder / "notes"
        write_files(folder / "model", MODEL)
        rows = (
            {
                "id": str(i),
                "input": f"question {i}",
                "reference": answer if i % 2 else "no",
            }
            for i in range(ROWS)
        )
        metric = f"batched\n    model: {folder / 'model'}"
        self.tasks = write_task(folder / "tasks", "modelled", rows)
        file = self.tasks / "modelled.yaml"
        file.write_text(file.read_text().replace("exact_match", metric))
        self.env = environment(
            PYTHONPATH=registered(folder / "site"), TOY_NOTES=str(self.notes_file)
        )

    def words(self, *flags: str) -> list[str]:
        where = [
            "--include_path",
            str(self.tasks),
            "--output_path",
            str(self.folder / "runs"),
        ]
        return ["--tasks", "modelled", "--model", "reference", *where, *flags]

    def of(self, what: str) -> list[Note]:
        return notes(self.notes_file, what)

    @property
    def rows(self) -> list[tuple[int, Any]]:
        (file,) = (self.folder / "runs").rglob("scores.jsonl")
        found = map(json.loads, file.read_text().splitlines())
        return [(row["i"], row["scores"]["batched"]["value"]) for row in found]


WHOLE = [(i, float(i % 2)) for i in range(ROWS)]


# Trials as the lines that scoring gets, their plans, and the rows that come of them.

PLUGINS = (
    "[mmeval.metrics]\ntoy_yes = tests.support.toy:toy_yes\nbatched = "
    "tests.support.scoring:batched\n"
)


def plan(metric: str = "toy_yes", **more: Any) -> ScoringPlan:
    given: dict[str, Any] = {
        "task": "t",
        "metrics": ((metric, {}, "standard"),),
        "unavailable": {},
        "labels": (),
    }
    return ScoringPlan(
        **{
            **given,
            "missing_output": None,
            "cluster_key": "",
            "media_root": Path("media"),
            **more,
        }
    )


def line_of(
    trial: Trial, index: int = 0, responses: Sequence[bytes] | None = None
) -> bytes:
    lines = responses or [
        to_line(exchange.response.to_json()) for exchange in trial.exchanges
    ]
    return trial_line(
        trial,
        to_line(trial.sample.to_json()),
        index=index,
        digest=trial.digest,
        responses=lines,
    )


def made(of: Sample, *responses: Response, output: Interleaved | None = None) -> Trial:
    exchanges = tuple(
        Exchange(str(i), "model", f"d{i}", response)
        for i, response in enumerate(responses)
    )
    return Trial(of, 0, exchanges, output or responses[0].output)


def answered(text: str, index: int = 0, **labels: Any) -> bytes:
    return line_of(made(sample(f"s{index}", **labels), reply(text)), index)


def scored(
    lines: Sequence[bytes], *plans: ScoringPlan, workers: int = 0
) -> list[dict[str, Any]]:
    """The rows of these trials, each scored under every plan."""
    delivered: list[tuple[int, bytes]] = []
    scorer = Scorer(
        plans, workers, lambda position, rows: delivered.append((position, rows))
    )
    scorer.start()

    async def score() -> None:
        for line in lines:
            for position in range(len(plans)):
                await scorer.add(position, line)
        await scorer.drain()

    try:
        asyncio.run(score())
    finally:
        scorer.close()
    rows = [
        (position, unsealed(row))
        for position, rows in delivered
        for row in rows.splitlines(keepends=True)
    ]
    return [row for _, row in sorted(rows, key=lambda item: (item[1]["i"], item[0]))]


class ScoringRun:
    """Plans of a task with a model and of one without, and the rows as they come."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: list[tuple[int, dict[str, Any]]] = []

    def plan(self, *more: str, **switches: Any) -> ScoringPlan:
        bound = bind(batched, {"model": str(self.folder / "model"), **switches})
        metrics = (
            ("batched", bound.params, "standard"),
            *((name, {}, "standard") for name in more),
        )
        return plan(metrics=metrics, batch=bound.at_once)

    def deliver(self, position: int, rows: bytes) -> None:
        self.rows += [
            (position, unsealed(row)) for row in rows.splitlines(keepends=True)
        ]

    def works(
        self,
        act: Callable[[Scorer], Coroutine[Any, Any, None]],
        *plans: ScoringPlan,
        workers: int = 1,
        device: str = "cpu",
    ) -> None:
        scorer = Scorer(plans or [self.plan()], workers, self.deliver, device)
        try:
            scorer.start()
            asyncio.run(act(scorer))
        finally:
            scorer.close()

    def scores(
        self, *texts: str, given: ScoringPlan | None = None, **options: Any
    ) -> list[dict[str, Any]]:
        """The scores of these answers in their order, here by default."""

        async def score(scorer: Scorer) -> None:
            for i, text in enumerate(texts):
                await scorer.add(0, answered(text, i))
            await scorer.drain()
            assert scorer.left_to_models == 0

        self.rows.clear()
        self.works(score, given or self.plan(), **{"workers": 0, **options})
        return [
            row["scores"] for _, row in sorted(self.rows, key=lambda item: item[1]["i"])
        ]

    def notes(self, what: str) -> list[Any]:
        return notes(self.folder / "notes", what)


def values(
    scores: Sequence[dict[str, Any]], name: str = "batched"
) -> list[float | None]:
    return [score[name]["value"] for score in scores]
