"""A run in which everything that a model, a judge or a data set can write is a string
of the injection corpus."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from mmeval.backend.capabilities import Capabilities
from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, Part, text_part
from mmeval.metric.contract import metric
from mmeval.program.calls import Program, Role, ask_one
from mmeval.program.protocols import Ask
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.records.sample import Message, Sample
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from mmeval.report.results_file import write_results
from mmeval.run.options import BackendSpec
from mmeval.settings.report_options import ReportContext
from tests.support.hostile.injections import INJECTIONS
from tests.support.task_folder import installed
from tests.support.toy import picture, run_toy, task

_PLUGINS = """
[mmeval.metrics]
hostile_evidence = tests.support.hostile.report_run:hostile_evidence
hostile_verdict = tests.support.hostile.report_run:hostile_verdict

[mmeval.model_backends]
hostile = tests.support.hostile.report_run:Hostile
"""
FAILING = 7
"""Of each so many samples one fails, with the string as the message."""


@contextmanager
def registered(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with installed(site, monkeypatch, {"hostile": {}}, more=_PLUGINS):
        yield


def hostile_run(folder: Path) -> Path:
    """The folder of a run with a sample for each string, in all its fields."""
    rows = [_sample(number, text) for number, text in enumerate(INJECTIONS)]
    tasks = [
        task(
            "hostile",
            rows,
            metrics=("hostile_evidence", "hostile_verdict"),
            protocol=_two_turns,
            breakdown=("label",),
        ),
        task("other", rows[:1], metrics=("hostile_evidence",)),
    ]
    named = [_renamed(one, INJECTIONS[at]) for at, one in enumerate(tasks)]
    spec = BackendSpec("hostile", {})
    settings = {"system_instruction": INJECTIONS[0], INJECTIONS[6]: INJECTIONS[7]}
    made = run_toy(folder, *named, model=spec, roles={"judge": spec}, settings=settings)
    context = ReportContext(model="<i>hostile</i>", settings=settings)
    write_results(made, context, moment=datetime(2026, 11, 20))
    return made.folder


def _renamed(one: Any, alias: str) -> Any:
    return replace(
        one,
        alias=alias,
        config={
            **one.config,
            "task_alias": alias,
            "breakdown": ["label", "<u>name</u>"],
        },
    )


def _sample(number: int, text: str) -> Sample:
    labels: Mapping[str, Any] = {
        "label": text,
        "<u>name</u>": text,
        text or "empty": text,
        "deep": [{text: [text]}],
    }
    question = Message(
        "user", Interleaved((text_part(f"{number}|{text}"), *_media(text)))
    )
    return Sample(
        f"{text}{number}",
        (question,),
        (Interleaved((text_part(text), *_media(text))),),
        labels,
    )


def _media(text: str) -> tuple[Part, ...]:
    medium = Media.from_bytes(picture(7).read(), name=text.replace("\0", ""))
    return (
        Part("image", media=medium, label=text),
        Part("image", label=text, raw=text),
    )


class Hostile:
    """Answers with the string that it was asked with, as every kind of part; every
    seventh time it fails with it."""

    capabilities = Capabilities.of(("text", "image"), ("text", "image", "code"))
    provenance: Mapping[str, Any] = {}
    identity: Mapping[str, Any] = {"backend": "hostile"}

    async def generate(self, request: Request) -> Response:
        number, _, text = request.messages[-1].content.text.partition("|")
        if number.isdigit() and int(number) % FAILING == 3:
            return Response.failed("server", text)
        code = [
            Part("code", text=f"```{language}\n{text}\n```")
            for language in (text, "html")
        ]
        words = Media.from_bytes(
            b"plain " + text.encode("utf-8", "replace"), name="x.txt"
        )
        parts = (
            Part("reasoning", text=text),
            text_part(text),
            *code,
            Part("document", media=words),
            *_media(text),
        )
        return Response(Interleaved(parts), served=text, warnings=(text,))

    async def close(self) -> None:
        pass


def _two_turns(ask: Ask) -> Program[Interleaved]:
    """The answer to the second of two requests, so that there are steps."""
    first = yield from ask_one(ask.call())
    first.require()
    second = yield from ask_one(ask.call())
    return second.require()


@metric(range=(0, 1), version="1", source="made for tests")
def hostile_evidence(trial: Trial) -> Score:
    """The string in keys and values of the evidence, and as the reason of those that
    have no score."""
    text = trial.output.text if trial.output is not None else ""
    evidence = {text: text, "nested": {text: [text, {text: text}]}}
    if text.startswith("<"):
        return Score.unscored(text or "nothing", said=evidence)
    return Score(0.5, evidence=evidence, reason=text)


@metric(range=(0, 1), version="1", source="made for tests")
def hostile_verdict(trial: Trial, judge: Role) -> Program[Score]:
    """What the judge says, which is what the answer said."""
    assert trial.output is not None
    said = yield from ask_one(judge.ask(text_part(f"x|{trial.output.text}")))
    return Score(1.0, evidence={"said": said.require().text})
