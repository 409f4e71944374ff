"""Toys for tests of the engine: samples, tasks, backends, metrics and programs that are
small, real and offline."""

import asyncio
import hashlib
import math
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmeval.backend.agent.answer import AgentAnswer, AgentProgram
from mmeval.backend.agent.contract import AgentBackend, agent
from mmeval.backend.capabilities import Capabilities
from mmeval.backend.tool import Tool
from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, text_part
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric, metric
from mmeval.metrics.quality.items import ItemScore, together
from mmeval.program.calls import Call, Program, Role, ask_one
from mmeval.program.protocols import Ask, join, single
from mmeval.records.request import GenerationParams, Request
from mmeval.records.response import Response, Usage
from mmeval.records.sample import Message, Sample, user
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from mmeval.report.progress_bar import QuietProgress
from mmeval.run.options import BackendSpec, RescoreOptions, RunOptions, RunOutcome
from mmeval.run.rescore.rescorer import rescore
from mmeval.run.runner import run
from mmeval.task.task import Group, Selection, Task, TaskMetric
from tests.support.task_folder import with_plugins
from tests.support.tiny_media import declared_png

PLUGINS = """
[mmeval.metrics]
toy_yes = tests.support.toy:toy_yes
toy_pair = tests.support.toy:toy_pair
toy_verdict = tests.support.toy:toy_verdict
sound_worth = tests.support.toy:sound_worth
picture_worth = tests.support.toy:picture_worth
text_worth = tests.support.toy:text_worth
sounds_at_once = tests.support.toy:sounds_at_once
what_there_is = tests.support.toy:what_there_is

[mmeval.protocols]
toy_turns = tests.support.toy:three_turns

[mmeval.model_backends]
toy = tests.support.toy:Toy
toy_local = tests.support.toy:ToyLocal
toy_agent = tests.support.toy:toy_agent
toy_parallel = tests.support.parallel:ToyParallel
"""


def registered() -> AbstractContextManager[None]:
    """The toys as plugins, as an installed distribution has them."""
    return with_plugins("toys", PLUGINS)


def picture(colour: int = 0) -> Media:
    """A PNG of one pixel, just made."""
    return Media.from_bytes(declared_png(1, 1, b"\0" + colour.to_bytes(3, "big")))


def reply(text: str, *media: Media) -> Response:
    return Response(output=Interleaved.from_reply(text, media))


def request(text: str = "question 0", *media: Media, **params: Any) -> Request:
    return Request((user(text, *media),), GenerationParams(**params))


def sample(
    id: str = "s0", text: str = "question 0", answer: str = "answer 0", **metadata: Any
) -> Sample:
    return Sample(id, (user(text),), (Interleaved.from_text(answer),), metadata)


def samples(count: int) -> list[Sample]:
    """``question 0`` with the reference ``answer 0``, and so on."""
    return [sample(f"s{i}", f"question {i}", f"answer {i}") for i in range(count)]


class Rows:
    """A data set in memory."""

    fingerprint = "rows"

    def __init__(self, rows: Sequence[Any]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self._rows)


def task(
    name: str = "toy",
    rows: Sequence[Sample] | int = 3,
    *,
    metrics: Sequence[str] = ("exact_match",),
    switches: Mapping[str, Any] | None = None,
    protocol: Callable[[Ask], Program[Interleaved]] = single,
    params: GenerationParams | None = None,
    **more: Any,
) -> Task:
    """A task whose samples are their own prompts. ``switches`` are those of every
    metric."""
    dataset = Rows(samples(rows) if isinstance(rows, int) else rows)
    return Task(
        name=name,
        alias=name,
        version="1",
        file=Path(f"{name}.yaml"),
        config={"task": name},
        dataset=lambda: dataset,
        prompt=lambda row: row.input,
        protocol=protocol,
        protocol_name="single",
        output_kinds=lambda row: ("text",),
        params=params or GenerationParams(),
        metrics=tuple(
            TaskMetric(bind(load_metric(metric), switches)) for metric in metrics
        ),
        **more,
    )


def three_turns(ask: Ask) -> Program[Interleaved]:
    """Three turns; each prompt carries the answers before it."""
    answers: list[Interleaved] = []
    for turn in range(3):
        earlier = [Message("assistant", answer) for answer in answers]
        answers.append(
            (
                yield from ask_one(
                    ask.call((*ask.messages, *earlier, user(f"turn {turn}")))
                )
            ).require()
        )
    return join(answers)


def asks(*texts: str, role: str = "model", **params: Any) -> Program[list[str]]:
    """One call after the other; returns the texts of the replies, or the kinds of their
    errors."""
    found = []
    for text in texts:
        got = yield from ask_one(Call(role, request(text, **params)))
        found.append(
            got.response.error.kind if got.response.error is not None else got.text
        )
    return found


class Toy:
    """Answers ``question 7`` with ``answer 7``, in a ``wording``, or what ``answers``
    says to whatever it is asked.

    ``asked`` holds the requests it got; ``log`` is a file that gets a line for each.
    While the file ``broken`` exists, requests that contain its first line fail with the
    kind of error in its second. Each answer costs ``tokens``.
    """

    provenance: Mapping[str, Any] = {"library": "1"}

    def __init__(
        self,
        *,
        model: str = "toy-1",
        log: str = "",
        broken: str = "",
        delay: float = 0.0,
        wording: str = "{}",
        answers: Callable[[Request], Response] | None = None,
        takes: str = "text+image",
        tokens: int = 0,
    ) -> None:
        self.identity = {"backend": "toy", "model": model}
        self.capabilities = Capabilities.of(takes.split("+"), ("text", "image"))
        self.asked: list[Request] = []
        self.closed = 0
        self._model, self._log, self._broken, self._delay = model, log, broken, delay
        self._wording, self._usage = wording, Usage(tokens, tokens)
        self._answers = answers or self._usual

    async def generate(self, request: Request) -> Response:
        self.asked.append(request)
        if self._log:
            with Path(self._log).open("a") as file:
                file.write(f"{asked_text(request)}|{request.seed}\n")
        await asyncio.sleep(self._delay)
        if self._broken and Path(self._broken).exists():
            mark, kind = Path(self._broken).read_text().split("\n")[:2]
            if mark in asked_text(request):
                return Response.failed(kind, "broken")  # type: ignore[arg-type]  # the test names a real kind
        response = self._answers(request)
        return (
            replace(response, usage=self._usage)
            if self._usage.input_tokens
            else response
        )

    async def close(self) -> None:
        self.closed += 1

    def _usual(self, request: Request) -> Response:
        text = asked_text(request)
        if request.wants == ("image",):
            return reply("", picture())
        verdict = "yes" if self._model != "toy-strict" else "no"
        return reply(
            self._wording.format(
                verdict if "met?" in text else text.replace("question", "answer")
            )
        )


def asked_text(request: Request) -> str:
    """The words of the last message."""
    return request.messages[-1].content.text


class ToyLocal:
    """A local model: answers in batches, whose sizes are in ``batches``. It fails on a
    batch with ``bad`` in it, and runs out of memory when more than ``memory`` requests
    come at once."""

    capabilities = Capabilities.of(("text",), ("text",))
    provenance: Mapping[str, Any] = {}

    def __init__(self, max_batch_size: int = 4, memory: int = 100) -> None:
        self.identity = {"backend": "toy_local"}
        self.max_batch_size = max_batch_size
        self.batches: list[list[str]] = []
        self._memory = memory

    def generate_batch(
        self, requests: Sequence[Request]
    ) -> Iterator[tuple[int, Response]]:
        texts = [asked_text(request) for request in requests]
        self.batches.append(texts)
        if len(requests) > self._memory:
            raise RuntimeError("CUDA out of memory")
        for position, text in reversed(list(enumerate(texts))):
            if "bad" in text:
                raise ValueError("bad row")
            yield position, reply(text.replace("question", "answer"))

    async def close(self) -> None:
        pass


@agent(takes=("text",), gives=("text", "image"), version="1")
def toy_agent(
    request: Request, helper: Role, text_to_image: Tool | None = None, *, note: str = ""
) -> AgentProgram:
    """Asks the role helper for a draft and then to better it, and a tool for a picture
    of it."""
    draft = yield from ask_one(
        helper.ask(f"draft: {asked_text(request)}", title="draft")
    )
    final = yield from ask_one(
        helper.ask(f"better: {draft.require().text}", title="better")
    )
    best, evidence = final.require(), {"note": note, "request": asked_text(request)}
    if text_to_image is None or "image" not in request.wants:
        return AgentAnswer(best, evidence)
    drawn = yield from ask_one(text_to_image.call(best.text, title="draw"))
    return AgentAnswer(Interleaved((*best.parts, *drawn.require().parts)), evidence)


def cast_agent(*roles: str, **args: Any) -> AgentBackend:
    """The toy agent in a run with these roles."""
    backend = toy_agent(**args)
    backend.cast(roles or ("helper",))
    return backend


@metric(
    range=(0, 1),
    version="1",
    source="made for tests",
    profiles={"official": {"word": "oui"}},
)
def toy_yes(trial: Trial, *, word: str = "yes") -> Score:
    """1 when the answer holds the word, else 0. Some answers make it misbehave, each in
    the way that they name."""
    assert trial.output is not None
    text = trial.output.text
    if "raise" in text:
        raise ValueError("no such luck")
    if "die" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    if "hang" in text:
        threading.Event().wait(30)
    if "grind" in text:
        hashlib.pbkdf2_hmac("sha256", b"never", b"ready", 1 << 30)
    if "exit" in text:
        raise SystemExit("enough")
    if "odd" in text:
        return Score(0.5, evidence={"set": {1, 2}})
    return Score(
        math.nan if "nan" in text else float(word in text), evidence={"word": word}
    )


@metric(
    range=(0, 1),
    version="1",
    source="made for tests",
    outputs=("toy_first", "toy_second"),
)
def toy_pair(trial: Trial) -> Mapping[str, float]:
    """Two numbers at once."""
    assert trial.output is not None
    return {"toy_first": 1.0, "toy_second": float(len(trial.output.text) % 2)}


@metric(range=(0, 1), version="1", source="made for tests")
def toy_verdict(trial: Trial, judge: Role, *, question: str = "met?") -> Program[Score]:
    """1 when the judge says yes to the answer, 0 when it says no; unscored without a
    verdict."""
    assert trial.output is not None
    words = (
        (yield from ask_one(judge.ask(trial.output, text_part(f" {question}"))))
        .require()
        .text
    )
    return (
        Score(float(words == "yes"))
        if words in ("yes", "no")
        else Score.unscored(f"the judge said {words!r}")
    )


def run_toy(
    folder: Path,
    *tasks: Task,
    model: BackendSpec | None = None,
    groups: tuple[Group, ...] = (),
    args: Mapping[str, Any] | None = None,
    prepare_end: Callable[[], None] | None = None,
    **options: Any,
) -> RunOutcome:
    """A run of the model ``toy`` in a folder, scored in this process; ``asked_in``
    tells what it was asked."""
    given = {
        "log": str(folder / "asked"),
        "broken": str(folder / "broken"),
        **(args or {}),
    }
    made = RunOptions(
        model=model or BackendSpec("toy", given),
        output_path=folder / "runs",
        **{"score_workers": 0, "retry_on_error": 0, **options},
    )
    return run(
        Selection(tasks, groups),
        made,
        progress=QuietProgress(),
        prepare_end=prepare_end,
    )


def asked_in(folder: Path) -> list[str]:
    """What the toy model was asked by the runs in a folder so far, in order of the
    words."""
    file = folder / "asked"
    return (
        sorted(line.split("|")[0] for line in file.read_text().splitlines())
        if file.exists()
        else []
    )


def break_model(folder: Path, mark: str = "question") -> None:
    """From now on the toy model fails on requests that hold the mark, until
    ``mend_model``."""
    (folder / "broken").write_text(f"{mark}\nserver\n")


def mend_model(folder: Path) -> None:
    (folder / "broken").unlink()


def damage(folder: Path, mark: str) -> None:
    """Spoil the lines of journals below a folder that hold a mark. Their lengths stay:
    so does a broken disk."""
    for segment in folder.rglob("journal/*.jsonl"):
        lines = segment.read_bytes().splitlines()
        segment.write_bytes(
            b"".join(
                (b"x" * len(line) if mark.encode() in line else line) + b"\n"
                for line in lines
            )
        )


# Metrics that have something to say of some answers only, and scores that are made of
# what they say. An answer ``sounds 0.5 1, pictures 0`` holds two sounds of these
# qualities and a picture.

NO_SOUND, NO_PICTURE = "the answer has no sound", "the answer has no picture"


def again(outcome: RunOutcome, **options: Any) -> RunOutcome:
    """The folder of a run scored again in this process."""
    made = {"roles": {}, "score_workers": 0, "retry_on_error": 0, **options}
    return rescore(
        RescoreOptions(folder=outcome.folder, **made), progress=QuietProgress()
    )


def _worth(trial: Trial, what: str, reason: str) -> Score:
    assert trial.output is not None
    found = re.search(rf"{what}((?: [\d.x]+)+)", trial.output.text)
    if found is None:
        return Score.inapplicable(reason)
    items = [
        ItemScore.none("damaged") if word == "x" else ItemScore(float(word))
        for word in found[1].split()
    ]
    return together([(f"{what}{at}", one) for at, one in enumerate(items, 1)])


@metric(range=(0, 1), version="1", source="tests")
def sound_worth(trial: Trial) -> Score:
    return _worth(trial, "sounds", NO_SOUND)


@metric(range=(0, 1), version="1", source="tests")
def picture_worth(trial: Trial) -> Score:
    return _worth(trial, "pictures", NO_PICTURE)


@metric(range=(0, 1), version="1", source="tests")
def text_worth(trial: Trial, judge: Role) -> Program[Score]:
    """1 where the judge says yes to the answer."""
    assert trial.output is not None
    reply = yield from ask_one(judge.ask(trial.output))
    return together([("text1", ItemScore(float(reply.require().text == "yes")))])


@metric(range=(0, 1), version="1", source="tests", batch=4)
def sounds_at_once(trials: Sequence[Trial]) -> list[Score]:
    return [_worth(trial, "sounds", NO_SOUND) for trial in trials]


@metric(range=(0, 1), version="1", source="tests", takes_missing=True)
def what_there_is(scores: Mapping[str, Score], *, of: Sequence[str] = ()) -> Score:
    """The mean of the pieces that have a value; its evidence is how each of them
    came."""
    values = [score.value for score in scores.values() if score.value is not None]
    evidence: dict[str, Any] = {name: score.status for name, score in scores.items()}
    if not values:
        return Score(
            status="inapplicable", reason="no piece has a value", evidence=evidence
        )
    return Score(sum(values) / len(values), evidence=evidence)
