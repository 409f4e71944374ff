"""The contract of metrics: a pure function of a trial, and what its number means.

    @metric(range=(0, 1), version="1", source="this paper, section 3")
    def word_overlap(trial: Trial, *, lower: bool = True) -> Score:
        ...

Keyword arguments are the metric's switches: recorded with every score, settable from
YAML, their values checked by their annotations. A generator function is a judged
metric: it yields calls to the roles that its positional arguments after ``trial`` name,
and returns a score. A function of ``scores`` instead of a trial is a derived metric:
see :mod:`mmeval.metric.derived`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from mmeval import plugins
from mmeval.errors import PluginError, UnknownNameError, UsageError
from mmeval.media.parts import Interleaved, PartKind
from mmeval.metric.model import HubModel, written_fault
from mmeval.metric.signature import SCORES, signature_of
from mmeval.program.prompt_file import JudgePrompt, prompt_kinds
from mmeval.records.sample import Sample
from mmeval.records.trial import Trial
from mmeval.system.arguments import FilePath, fault_of, hint_of, is_path, marks_of

TRUST = "trust_remote_code"
"""The switch of a metric that runs code of a named model. No file can set it: the user
consents, by the flag."""
AGGREGATION = "aggregation"
"""The switch of a metric that works by the aggregator of its entry in a task file, and
is set to its name. Only such a metric may give a score that has evidence in place of a
value."""

SampleCheck = Callable[[Sample, Mapping[str, Any]], str]
"""What is wrong with a sample for a metric with these switches; empty when nothing
is."""
Supposed = Callable[[Trial, Mapping[str, Any]], Interleaved]
"""The answer, in place of one without content, after which a metric with these switches
asks the most."""
Range: TypeAlias = tuple[float, float]
"""The lowest and the highest value of a number; infinities are allowed."""
RangeOf: TypeAlias = Callable[
    [Mapping[str, Range], Mapping[str, Any]], Range | Mapping[str, Range]
]
"""The range of a metric, from those of its pieces (of a metric that is derived) and its
switches. That of each output by name where these differ, which those of a derived
metric do not."""
DirectionOf: TypeAlias = Callable[[Mapping[str, Any]], bool]
"""Whether higher is better, where it depends on a metric's switches."""
NeedsOf: TypeAlias = Callable[[Mapping[str, Any]], Sequence[str]]
"""The modules that a metric imports, where they depend on its switches."""


@dataclass(frozen=True)
class Metric:
    """A metric with its description. ``range`` is (worst or lowest, highest) of the
    value; infinities are allowed. ``ranges`` are those of outputs that have one of
    their own. ``outputs`` are the names of the numbers that it gives, ``needs`` the
    modules that it imports (each as ``module:extra``; a function of the switches gives
    them where they depend on these), ``roles`` the roles that it asks, ``batch`` how
    many trials it scores at once (0: one by one). ``profiles`` maps profiles to the
    switches they set. ``check`` gives, for a sample and the switches, the reason why no
    answer could be scored. ``range_of`` gives the range where it depends on switches,
    and on the pieces of a derived metric, ``direction_of`` whether higher is better
    where it depends on switches; one that ``takes_missing`` is made of the pieces that
    exist. ``supposed`` gives the answer for a dry run. One that is ``reference_free``
    reads the answer alone, so that it may give the right answer to another question the
    same score. ``looks_at`` is the only kind of part that it reads. ``stand_ins`` are
    the values of switches with which its number does not compare with published
    ones."""

    name: str
    function: Callable[..., Any]
    range: tuple[float, float]
    higher_is_better: bool
    version: str
    source: str
    needs: tuple[str, ...] | NeedsOf = ()
    outputs: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    profiles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    switches: Mapping[str, Any] = field(default_factory=dict)
    check: SampleCheck | None = None
    batch: int = 0
    range_of: RangeOf | None = None
    ranges: Mapping[str, Range] = field(default_factory=dict)
    direction_of: DirectionOf | None = None
    supposed: Supposed | None = None
    takes_missing: bool = False
    reference_free: bool = False
    looks_at: PartKind | None = None
    stand_ins: Mapping[str, Any] = field(default_factory=dict)

    def range_for(self, output: str) -> Range:
        """The range of one output."""
        return self.ranges.get(output, self.range)

    def ranged(self, switches: Mapping[str, Any]) -> Metric:
        """With the range that it has with these switches."""
        if self.range_of is None or self.derived:
            return self
        found = self.range_of({}, switches)
        return replace(
            self,
            range=whole_range(found),
            ranges=found if isinstance(found, Mapping) else {},
        )

    @property
    def judged(self) -> bool:
        return inspect.isgeneratorfunction(self.function)

    @property
    def derived(self) -> bool:
        """Whether it is computed from other scores of a trial, and never reads the
        answer."""
        return _reads_scores(self.function)

    @cached_property
    def prompts(self) -> Mapping[str, JudgePrompt]:
        """The switches that are prompts, with what each may read."""
        return prompt_kinds(self.function, self.switches)

    @cached_property
    def models(self) -> Mapping[str, HubModel]:
        """The switches that name models, with the files of them that it opens."""
        models = {}
        for switch in self.switches:
            marks = marks_of(hint_of(self.function, switch), HubModel)
            if marks:
                models[switch] = marks[0]
        return models

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The other switches that may name a file or a folder."""
        others = self.switches.keys() - self.models.keys() - self.prompts.keys()
        paths = []
        for switch in self.switches:
            hint = hint_of(self.function, switch)
            if switch in others and marks_of(hint, FilePath):
                paths.append(switch)
        return tuple(paths)

    def switch_fault(self, switch: str, value: Any) -> str:
        """Why a switch cannot have a value, by its annotation; empty when it can."""
        return fault_of(value, hint_of(self.function, switch))

    def placed(
        self,
        params: Mapping[str, Any],
        folder: Path,
    ) -> dict[str, Any]:
        """Switches of a file in ``folder``: relative paths (``PathOrName``) start
        there."""
        placed = dict(params)
        for switch, value in params.items():
            if self.takes_path(switch, value):
                placed[switch] = str((folder / value).absolute())
        return placed

    def takes_path(self, switch: str, value: Any) -> bool:
        """Whether a value of a switch is the path of a file."""
        return is_path(value, hint_of(self.function, switch))

    def consented(
        self,
        params: Mapping[str, Any],
        *,
        trust: bool,
    ) -> dict[str, Any]:
        """Switches as written, with the user's consent to run code, where it is needed.
        Raises UsageError for switches that give the consent themselves, or say what a
        model was found to be."""
        if TRUST in params:
            raise UsageError(
                f"{TRUST} is the user's to give, with the flag --{TRUST}; leave it out",
                name=TRUST,
            )
        for switch in self.models:
            if fault := written_fault(params.get(switch)):
                raise UsageError(
                    f"the switch {switch!r} of the metric {self.name!r} {fault}",
                    name=switch,
                )
        if trust and TRUST in self.switches:
            return {**params, TRUST: True}
        return dict(params)


def metric(
    *,
    range: Range | RangeOf,
    version: str,
    source: str,
    higher_is_better: bool | DirectionOf = True,
    name: str = "",
    needs: Sequence[str] | NeedsOf = (),
    outputs: Sequence[str] = (),
    profiles: Mapping[str, Mapping[str, Any]] | None = None,
    check: SampleCheck | None = None,
    batch: int | None = None,
    supposed: Supposed | None = None,
    takes_missing: bool = False,
    reference_free: bool = False,
    looks_at: PartKind | None = None,
    stand_ins: Mapping[str, Any] | None = None,
) -> Callable[[Callable[..., Any]], Metric]:
    """Describe a scoring function; keyword-only arguments are switches, others roles.

    With ``batch=N`` the first argument is ``trials``: up to N at once, and one score is
    returned for each, in order. Such metrics are scored by a process of their own,
    which loads each model once.

    Else the first argument is ``trial``, or ``scores`` of a derived metric. ``range``
    may be a function of the ranges of its pieces and of the switches. With
    ``takes_missing`` it also gets the pieces that are not there.

    ``higher_is_better`` may be a function of the switches. ``reference_free`` metrics
    read neither the question nor a reference: ``mmeval check`` then does not expect
    lower scores for the references of other samples. ``looks_at`` is its only kind of
    part, if any: ``mmeval try metric`` treats FILEs as such. See ``Metric`` for the
    others.
    """

    def describe(function: Callable[..., Any]) -> Metric:
        given = name or function.__name__
        signature = signature_of(given, function, batch)
        if takes_missing and not _reads_scores(function):
            raise PluginError(
                f"the metric {given!r}: takes_missing is of a metric that is made of "
                "other scores"
            )
        limits: Range = (-math.inf, math.inf)
        if not callable(range):
            limits = range
            if not limits[0] < limits[1]:
                raise PluginError(
                    f"the metric {given!r}: range is the lowest and the highest "
                    f"value, not {range}"
                )
        return Metric(
            name=given,
            function=function,
            range=limits,
            higher_is_better=callable(higher_is_better) or higher_is_better,
            version=version,
            source=source,
            needs=needs if callable(needs) else tuple(needs),
            outputs=tuple(outputs) or (given,),
            roles=signature.roles,
            profiles=profiles or {},
            switches=signature.switches,
            check=check,
            batch=batch or 0,
            range_of=range if callable(range) else None,
            direction_of=higher_is_better if callable(higher_is_better) else None,
            supposed=supposed,
            takes_missing=takes_missing,
            reference_free=reference_free,
            looks_at=looks_at,
            stand_ins=stand_ins or {},
        ).ranged(signature.switches)

    return describe


def _reads_scores(function: Callable[..., Any]) -> bool:
    return next(iter(inspect.signature(function).parameters)) == SCORES


def whole_range(found: Range | Mapping[str, Range]) -> Range:
    """From the lowest to the highest value of any output."""
    if not isinstance(found, Mapping):
        return found
    lows, highs = zip(*found.values(), strict=True)
    return min(lows), max(highs)


def load_metric(name: str) -> Metric:
    """A registered metric. Raises UnknownNameError for a name that is not registered,
    PluginError if the entry point names something else."""
    if name in _ELSEWHERE and name not in plugins.names("mmeval.metrics"):
        raise UnknownNameError("metric", name, (), _ELSEWHERE[name])
    return plugins.load_as(
        "mmeval.metrics", name, Metric, "decorate a function with @metric"
    )


_CHOICE = "Use choice: it reads which option an answer names"
_LIKELIHOOD = (
    "It needs the likelihood of given texts, and models only answer here; choice reads "
    "which option an answer names"
)
_ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(("acc", "accuracy", "acc_norm", "acc_bytes"), _CHOICE),
    **dict.fromkeys(("exact", "em", "exact_match_hf"), "Use exact_match"),
    **dict.fromkeys(("contains", "include", "match_any"), "Use includes"),
    "bleu": "Use hf_evaluate with name: sacrebleu",
    "chrf": "Use hf_evaluate with name: chrf",
    "ter": "Use hf_evaluate with name: ter",
    "rouge": "Use hf_evaluate with name: rouge",
    "meteor": "Use hf_evaluate with name: meteor",
    "bertscore": "Use hf_evaluate with name: bertscore",
    **dict.fromkeys(
        (
            "acc_mutual_info",
            "bits_per_byte",
            "brier_score",
            "byte_perplexity",
            "likelihood",
            "perplexity",
            "word_perplexity",
        ),
        _LIKELIHOOD,
    ),
}
"""Metrics of other harnesses, and what to use here."""
