"""The parts that picture metrics share: row check, judge, switches and score.

A rule is a program whose arguments are a :class:`PictureCase` and switches. The rule
asks the judge and turns the answers into a score. :func:`question` turns a rule into a
metric: it adds the judge and the switches that all rules share, and it scores trials
that do not need the judge.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, TypeVar

from mmeval.media import Interleaved, Media, text_part
from mmeval.metric import Metric, SampleCheck, Supposed, metric
from mmeval.metric.judge import Repeats
from mmeval.metrics.judged.pictures.asking import PictureJudge
from mmeval.metrics.judged.pictures.selection import (
    ScoredWithoutJudge,
    answer_of,
    only_picture,
)
from mmeval.metrics.judged.reading import Lost, Reading
from mmeval.metrics.produced import wrong
from mmeval.metrics.structure.self_description import Statements, words_beside
from mmeval.program import Program, Role
from mmeval.records import Sample, Score, Trial

T = TypeVar("T")
OFFICIAL = {"reading": "official", "lost": "wrong"}
"""The switches of the profile ``official``."""


@dataclass(frozen=True)
class PictureCase:
    """A trial with the judge of a rule, and the second judge if the rule uses two."""

    trial: Trial
    judge: PictureJudge
    second_judges: tuple[PictureJudge, ...]
    statements: Statements

    @property
    def labels(self) -> Mapping[str, Any]:
        """The labels of the row. The rule's check has accepted them."""
        return self.trial.sample.metadata

    @property
    def picture(self) -> Media:
        """The answer's only picture.

        Raises ScoredWithoutJudge if the answer contains no picture or several.
        """
        return only_picture(self.trial)

    def claim(self, parse: Callable[[str], T | None]) -> T:
        """Parses the claim that an answer makes about its picture.

        Raises ScoredWithoutJudge (0 with the reason) if the answer makes no such claim,
        or does not have exactly one picture at one position.
        """
        only_picture(self.trial)
        words = words_beside(answer_of(self.trial), self.statements)
        if words is None:
            raise ScoredWithoutJudge(
                wrong("the answer does not have exactly one place for its picture")
            )
        claim = parse(words)
        if claim is None:
            raise ScoredWithoutJudge(
                wrong("the answer does not make the claim in the requested form")
            )
        return claim


def question(
    *,
    source: str,
    check: SampleCheck,
    supposed: Supposed | None = None,
    statements: bool = False,
    second_judge: bool = False,
    official: Mapping[str, str] | None = None,
    version: str = "2",
) -> Callable[[Callable[..., Program[Score]]], Metric]:
    """Turns a rule into a metric with the range 0 to 1.

    ``check`` returns what is wrong with a row. ``statements`` adds the switch
    ``statements``, and ``second_judge`` adds a second judge. ``official`` adds switches
    to the profile ``official``.
    """
    roles, omitted = ["judge"], set()
    profile = {**OFFICIAL, **(official or {})}
    if second_judge:
        roles.append("second_judge")
    else:
        omitted.add("second_media_first")
    if statements:
        profile["statements"] = "official"
    else:
        omitted.add("statements")

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
            **switches: Any,  # the rule's switches, of any type
        ) -> Program[Score]:
            if fault := check(trial.sample, switches):
                return Score.unscored(fault)
            first = PictureJudge(judge, reading, lost, media_first, repeats)
            others: list[PictureJudge] = []
            for role in second:
                other = PictureJudge(role, reading, lost, second_media_first, repeats)
                others.append(other)
            case = PictureCase(trial, first, tuple(others), statements)
            # A rule raises this while it selects pictures, before it asks the judge.
            try:
                return (yield from rule(case, **switches))
            except ScoredWithoutJudge as scored:
                return scored.score

        _sign(judged, rule, roles, omitted)
        described = metric(
            range=(0, 1),
            version=version,
            source=source,
            profiles={"official": profile},
            check=check,
            supposed=supposed,
        )
        return described(judged)

    return describe


def _sign(
    judged: Any, rule: Callable[..., object], roles: Sequence[str], omitted: Set[str]
) -> None:
    """Gives a metric the name and docstring of its rule, and a signature.

    The signature contains the roles, the rule's switches, the shared switches, and the
    rule's prompts. The function is typed as ``Any``, since the type of a function lacks
    ``__signature__``.
    """
    shared = inspect.signature(judged, eval_str=True).parameters
    _, *rule_parameters = inspect.signature(rule, eval_str=True).parameters.values()
    prompts: list[inspect.Parameter] = []
    parameters = [shared["trial"]]
    for role in roles:
        parameters.append(shared["judge"].replace(name=role))
    for parameter in rule_parameters:
        is_prompt = parameter.name.endswith("prompt")
        (prompts if is_prompt else parameters).append(parameter)
    for parameter in shared.values():
        is_switch = parameter.kind is parameter.KEYWORD_ONLY
        if is_switch and parameter.name not in omitted:
            parameters.append(parameter)
    parameters += prompts
    judged.__name__, judged.__doc__ = rule.__name__, rule.__doc__
    judged.__signature__ = inspect.Signature(parameters)
    judged.__annotations__ = {
        parameter.name: parameter.annotation for parameter in parameters
    }


def text_under(key: str) -> SampleCheck:
    """Returns a check that the label named by the switch ``key`` is a string."""

    def check(sample: Sample, switches: Mapping[str, Any]) -> str:
        label = switches[key]
        if isinstance(sample.metadata.get(label), str):
            return ""
        return f"the row has no text under {label!r}"

    return check


def supposing(words: Callable[[Trial, Mapping[str, Any]], str]) -> Supposed:
    """Returns a ``supposed`` function for answers that also make a claim."""

    def supposed(trial: Trial, switches: Mapping[str, Any]) -> Interleaved:
        answer = trial.output or Interleaved()
        claim = text_part(words(trial, switches))
        return Interleaved((*answer.parts, claim))

    return supposed
