"""Metrics: pure functions of a trial, with a description of their values.

    @metric(range=(0, 1), version="1", source="this paper, section 3")
    def word_overlap(trial: Trial, *, lower: bool = True) -> Score:
        ...

Keyword arguments are the metric's switches. They are recorded with every score and can
be set in YAML. Their values are checked against the annotations. A generator function
is a judged metric. Its positional arguments after ``trial`` are roles. It yields calls
to these roles and returns a score. A function of ``scores`` instead of ``trial`` is a
derived metric (see :mod:`mmeval.metric.derived`).
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
"""The switch that allows a metric to run code of a model. A file cannot set this
switch, because the user must consent with the flag."""
AGGREGATION = "aggregation"
"""The switch whose value is the name of the aggregator in the task file. Only a metric
with this switch may return a score with evidence instead of a value."""

SampleCheck = Callable[[Sample, Mapping[str, Any]], str]
"""Returns why a metric with these switches cannot score a sample, or an empty
string."""
Supposed = Callable[[Trial, Mapping[str, Any]], Interleaved]
"""Returns the answer that a dry run supposes for a metric with these switches. This
answer leads to the maximum number of calls."""
Range: TypeAlias = tuple[float, float]
"""The lowest and the highest value. Infinities are allowed."""
RangeOf: TypeAlias = Callable[
    [Mapping[str, Range], Mapping[str, Any]], Range | Mapping[str, Range]
]
"""Returns the range of a metric from its switches and, for a derived metric, from the
ranges of its pieces. A metric without pieces may return a mapping of outputs to
ranges."""
DirectionOf: TypeAlias = Callable[[Mapping[str, Any]], bool]
"""Returns True if higher is better with these switches."""
NeedsOf: TypeAlias = Callable[[Mapping[str, Any]], Sequence[str]]
"""Returns the optional modules that a metric imports with these switches."""


@dataclass(frozen=True)
class Metric:
    """A metric with its description.

    - ``range``: the lowest and the highest value. Infinities are allowed.
    - ``ranges``: the ranges of outputs whose range is not ``range``.
    - ``outputs``: the names of the metric's values.
    - ``needs``: the optional modules that the metric imports, each as
      ``module:extra``, or a function that returns them for given switches.
    - ``roles``: the roles that the metric calls.
    - ``batch``: the number of trials that the metric scores at once. With 0 it scores
      them one by one.
    - ``profiles``: the switches that each profile sets.
    - ``check``: returns why no answer to a sample can be scored.
    - ``range_of``, ``direction_of``: return the range and the direction if they depend
      on the switches, or on the pieces of a derived metric.
    - ``takes_missing``: True if a derived metric also accepts pieces without a score.
    - ``supposed``: returns the answer that a dry run supposes.
    - ``reference_free``: True if the metric reads only the answer. Then an answer to
      another sample may get the same score.
    - ``caution``: what the metric does not measure, for readers of its numbers.
    - ``looks_at``: the kind of part that the metric reads, if it reads only one kind.
    - ``stand_ins``: values of switches that make the result not comparable with
      published results.
    """

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
    caution: str = ""
    looks_at: PartKind | None = None
    stand_ins: Mapping[str, Any] = field(default_factory=dict)

    def range_for(self, output: str) -> Range:
        """Returns the range of one output."""
        return self.ranges.get(output, self.range)

    def ranged(self, switches: Mapping[str, Any]) -> Metric:
        """Returns the metric with its range for these switches."""
        if self.range_of is None or self.derived:
            return self
        ranges = self.range_of({}, switches)
        return replace(
            self,
            range=whole_range(ranges),
            ranges=ranges if isinstance(ranges, Mapping) else {},
        )

    @property
    def judged(self) -> bool:
        return inspect.isgeneratorfunction(self.function)

    @property
    def derived(self) -> bool:
        """True if the metric is computed from other scores, not from the answer."""
        return _reads_scores(self.function)

    @cached_property
    def prompts(self) -> Mapping[str, JudgePrompt]:
        """The switches that are prompts, each with the mark in its annotation."""
        return prompt_kinds(self.function, self.switches)

    @cached_property
    def models(self) -> Mapping[str, HubModel]:
        """The switches that name models, each with the mark in its annotation."""
        models = {}
        for switch in self.switches:
            marks = marks_of(hint_of(self.function, switch), HubModel)
            if marks:
                models[switch] = marks[0]
        return models

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """Other switches that may name a file or a folder."""
        others = self.switches.keys() - self.models.keys() - self.prompts.keys()
        paths = []
        for switch in self.switches:
            hint = hint_of(self.function, switch)
            if switch in others and marks_of(hint, FilePath):
                paths.append(switch)
        return tuple(paths)

    def switch_fault(self, switch: str, value: Any) -> str:
        """Returns why the annotation of a switch does not allow a value.

        The string is empty if the value is allowed.
        """
        return fault_of(value, hint_of(self.function, switch))

    def placed(
        self,
        params: Mapping[str, Any],
        folder: Path,
    ) -> dict[str, Any]:
        """Returns the switches with relative paths resolved against ``folder``."""
        placed = dict(params)
        for switch, value in params.items():
            if self.takes_path(switch, value):
                placed[switch] = str((folder / value).absolute())
        return placed

    def takes_path(self, switch: str, value: Any) -> bool:
        """Returns True if a value of a switch is a path."""
        return is_path(value, hint_of(self.function, switch))

    def consented(
        self,
        params: Mapping[str, Any],
        *,
        trust: bool,
    ) -> dict[str, Any]:
        """Returns the switches, with the user's consent to run code if it is needed.

        Raises UsageError if the switches set this consent or the fingerprint of a
        model.
        """
        if TRUST in params:
            raise UsageError(
                f"the switch {TRUST} is not allowed here; use the flag --{TRUST}",
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
    caution: str = "",
    looks_at: PartKind | None = None,
    stand_ins: Mapping[str, Any] | None = None,
) -> Callable[[Callable[..., Any]], Metric]:
    """Declares a scoring function.

    Keyword-only arguments are switches. All other arguments after the first are roles.

    The first argument of the function is ``trial``, or ``scores`` for a derived metric.
    With ``batch=N``, the first argument is ``trials``, a list of at most N trials, and
    the function returns one score for each trial, in order. A separate process computes
    such metrics and loads each model once.

    ``range`` may be a function of the switches and of the ranges of a derived metric's
    pieces. ``higher_is_better`` may be a function of the switches. With
    ``takes_missing``, a derived metric also gets the pieces that have no score.

    ``reference_free`` metrics read neither the question nor a reference. Therefore
    ``mmeval check`` does not expect lower scores for the references of other samples.
    The report page shows the ``caution`` below the numbers of the metric, and
    ``mmeval ls metrics NAME`` with its facts.
    ``looks_at`` is the kind of part that the metric reads, if there is only one.
    ``mmeval try metric`` treats FILEs as that kind. See ``Metric`` for the other
    arguments.
    """

    def describe(function: Callable[..., Any]) -> Metric:
        metric_name = name or function.__name__
        signature = signature_of(metric_name, function, batch)
        if takes_missing and not _reads_scores(function):
            raise PluginError(
                f"the metric {metric_name!r}: only derived metrics can set "
                "takes_missing"
            )
        limits: Range = (-math.inf, math.inf)
        if not callable(range):
            limits = range
            if not limits[0] < limits[1]:
                raise PluginError(
                    f"the metric {metric_name!r}: range must be the lowest and the "
                    f"highest value, not {range}"
                )
        return Metric(
            name=metric_name,
            function=function,
            range=limits,
            higher_is_better=callable(higher_is_better) or higher_is_better,
            version=version,
            source=source,
            needs=needs if callable(needs) else tuple(needs),
            outputs=tuple(outputs) or (metric_name,),
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
            caution=caution,
            looks_at=looks_at,
            stand_ins=stand_ins or {},
        ).ranged(signature.switches)

    return describe


def _reads_scores(function: Callable[..., Any]) -> bool:
    return next(iter(inspect.signature(function).parameters)) == SCORES


def whole_range(ranges: Range | Mapping[str, Range]) -> Range:
    """Returns the range that covers the ranges of all outputs."""
    if not isinstance(ranges, Mapping):
        return ranges
    lows, highs = zip(*ranges.values(), strict=True)
    return min(lows), max(highs)


def load_metric(name: str) -> Metric:
    """Loads a registered metric.

    Raises UnknownNameError for an unknown name, and PluginError if its entry point is
    not a metric.
    """
    if name in _ELSEWHERE and name not in plugins.names("mmeval.metrics"):
        raise UnknownNameError("metric", name, (), _ELSEWHERE[name])
    return plugins.load_as(
        "mmeval.metrics", name, Metric, "decorate a function with @metric"
    )


_CHOICE = "Use choice: it reads which option an answer names"
_LIKELIHOOD = (
    "It needs the likelihood of texts, which mmeval does not compute. Use choice: it "
    "reads which option an answer names"
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
"""What to use in mmeval instead of a metric of another harness, by its name there."""
