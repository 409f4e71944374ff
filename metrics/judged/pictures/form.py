"""The common form of metrics about pictures: row check, judge, switches, score.

A rule is a program of a :class:`Look` with its own switches; it asks with its prompts
and turns the answers into a score. :func:`question` makes it a metric: it adds the
judge and the switches that all rules share, and scores trials that need no judge.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, TypeVar

from mmeval.media import Interleaved, Media, text_part
from mmeval.metric import Metric, SampleCheck, Supposed, metric
from mmeval.metric.judge import Repeats
from mmeval.metrics.judged.pictures.asking import Asking
from mmeval.metrics.judged.pictures.shown import Settled, answer_of, only_picture
from mmeval.metrics.judged.reading import Lost, Reading
from mmeval.metrics.produced import wrong
from mmeval.metrics.structure.self_description import Statements, words_beside
from mmeval.program import Program, Role
from mmeval.records import Sample, Score, Trial

T = TypeVar("T")
OFFICIAL = {"reading": "official", "lost": "wrong"}
"""The switches of the profile ``official``."""


@dataclass(frozen=True)
class Look:
    """A trial for a rule, with its judge and the second one, if any."""

    trial: Trial
    asking: Asking
    second: tuple[Asking, ...]
    statements: Statements

    @property
    def labels(self) -> Mapping[str, Any]:
        """The labels of the row, which the rule's check has accepted."""
        return self.trial.sample.metadata

    @property
    def picture(self) -> Media:
        """The picture of an answer with exactly one. Raises Settled for others."""
        return only_picture(self.trial)

    def claim(self, parse: Callable[[str], T | None]) -> T:
        """The claim of an answer about its one picture. Raises Settled (0 with the
        reason) without such a claim, or without exactly one picture in one place."""
        only_picture(self.trial)
        words = words_beside(answer_of(self.trial), self.statements)
        if words is None:
            raise Settled(wrong("the answer has not exactly one place for its picture"))
        says = parse(words)
        if says is None:
            raise Settled(
                wrong("the answer does not say it in the form that was asked for")
            )
        return says


def question(
    *,
    source: str,
    check: SampleCheck,
    supposed: Supposed | None = None,
    statements: bool = False,
    second_judge: bool = False,
    official: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., Program[Score]]], Metric]:
    """Make a metric, 0 to 1, of a rule; ``check`` says what is wrong with a row.
    ``statements`` adds the switch of that name, ``second_judge`` a judge, ``official``
    switches of that profile."""
    roles, left_out = ["judge"], set()
    profile = {**OFFICIAL, **(official or {})}
    if second_judge:
        roles.append("second_judge")
    else:
        left_out.add("second_media_first")
    if statements:
        profile["statements"] = "official"
    else:
        left_out.add("statements")

    def describe(rule: Callable[..., Program[Score]]) -> Metric:
        def judged(
            trial: Trial,
            judge: Role,
            *second: Role,
            statements: Statements = "standard",
            reading: Reading = "robust",
            lost: Lost = "unscored",
            media_first: bool = True,
            second_media_first: bool = False,
            repeats: Repeats = 1,
            **own: Any,  # the rule's switches, of any type
        ) -> Program[Score]:
            if fault := check(trial.sample, own):
                return Score.unscored(fault)
            asking = Asking(judge, reading, lost, media_first, repeats)
            others: list[Asking] = []
            for role in second:
                others.append(Asking(role, reading, lost, second_media_first, repeats))
            try:
                return (
                    yield from rule(
                        Look(trial, asking, tuple(others), statements), **own
                    )
                )
            except Settled as settled:
                return settled.score

        _sign(judged, rule, roles, left_out)
        described = metric(
            range=(0, 1),
            version="2",
            source=source,
            profiles={"official": profile},
            check=check,
            supposed=supposed,
        )
        return described(judged)

    return describe


def _sign(
    judged: Any, rule: Callable[..., object], roles: Sequence[str], left_out: Set[str]
) -> None:
    """Give a metric its rule's name and docstring, and its signature. That has the
    roles, the rule's switches, those that all share, and the rule's prompts.

    ``Any``: a function has no attribute for it that a type knows.
    """
    shared = inspect.signature(judged, eval_str=True).parameters
    _, *own = inspect.signature(rule, eval_str=True).parameters.values()
    prompts: list[inspect.Parameter] = []
    parameters = [shared["trial"]]
    for role in roles:
        parameters.append(shared["judge"].replace(name=role))
    for parameter in own:
        is_prompt = parameter.name.endswith("prompt")
        (prompts if is_prompt else parameters).append(parameter)
    for parameter in shared.values():
        is_switch = parameter.kind is parameter.KEYWORD_ONLY
        if is_switch and parameter.name not in left_out:
            parameters.append(parameter)
    parameters += prompts
    judged.__name__, judged.__doc__ = rule.__name__, rule.__doc__
    judged.__signature__ = inspect.Signature(parameters)
    judged.__annotations__ = {
        parameter.name: parameter.annotation for parameter in parameters
    }


def text_under(key: str) -> SampleCheck:
    """For ``check``: the label that the switch ``key`` names must hold a text."""

    def check(sample: Sample, switches: Mapping[str, Any]) -> str:
        label = switches[key]
        if isinstance(sample.metadata.get(label), str):
            return ""
        return f"the row has no text under {label!r}"

    return check


def supposing(words: Callable[[Trial, Mapping[str, Any]], str]) -> Supposed:
    """For ``supposed``: an answer that makes a claim to judge, by trial and
    switches."""

    def supposed(trial: Trial, switches: Mapping[str, Any]) -> Interleaved:
        answer = trial.output or Interleaved()
        claim = text_part(words(trial, switches))
        return Interleaved((*answer.parts, claim))

    return supposed
