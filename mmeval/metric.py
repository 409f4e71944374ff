"""The metric contract: a pure function of a trial, with a description of what its number means.

    @metric(range=(0, 1), version="1", source="this paper, section 3")
    def word_overlap(trial: Trial, *, lower: bool = True) -> Score:
        ...

Keyword arguments are the metric's switches: recorded with every score, settable from YAML, their values checked by
their annotations. A generator function is a
judged metric: it yields calls to the roles that its positional arguments after ``trial`` name, and returns a score.
"""

from __future__ import annotations

import importlib.util
import inspect
import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mmeval import plugins
from mmeval.digest import digest
from mmeval.errors import MissingExtraError, MmevalError, PluginError, UnknownNameError, UsageError
from mmeval.program import Program, Role
from mmeval.promptfile import JudgePrompt, PromptTexts, find_prompt
from mmeval.raisedat import raised_at
from mmeval.records import Sample, Score, Trial
from mmeval.switches import fault_of, hint_of, is_path, marks_of
from mmeval.weights import Weights

TRUST = "trust_remote_code"
"""The switch of a metric that runs code which is named to it. No file can set it: the user consents, by the flag."""

ROUNDING = 1e-6
"""How far beyond its range a value may lie: floating point sums of ones are not always one."""

TRIAL = ("trial", "_trial", "_")
"""What the first argument of a metric is called, or may be called where it is not read."""

PASSING = (TimeoutError, ConnectionError, MemoryError)
"""What a metric may fail with although it would score the same answer another time."""

SampleCheck = Callable[[Sample, Mapping[str, Any]], str]
"""What is wrong with a sample for a metric with these switches; empty when nothing is."""
MetricScores = Mapping[str, Score]
"""What one metric says of one trial, by output name: one entry for most, several for a metric with sub-scores."""


@dataclass(frozen=True)
class Metric:
    """A metric with its description. ``range`` is (worst or lowest, highest) of the value; infinities are allowed.

    ``outputs`` are the names of the numbers that it gives, ``needs`` the modules that it imports (each as
    ``module:extra``), ``weights`` the models whose files it opens, ``roles`` the roles that it asks. ``profiles`` maps
    profiles to the switches they set. ``check`` says, of a sample and the switches, why no answer could be scored.
    """

    name: str
    function: Callable[..., Any]
    range: tuple[float, float]
    higher_is_better: bool
    version: str
    source: str
    needs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    profiles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    switches: Mapping[str, Any] = field(default_factory=dict)
    check: SampleCheck | None = None
    weights: tuple[Weights, ...] = ()

    @property
    def judged(self) -> bool:
        return inspect.isgeneratorfunction(self.function)

    @property
    def doc(self) -> str:
        return inspect.getdoc(self.function) or ""

    @cached_property
    def prompts(self) -> Mapping[str, JudgePrompt]:
        """The switches that are prompts, with what each may read."""
        found = {switch: marks_of(hint_of(self.function, switch), JudgePrompt) for switch in self.switches}
        return {switch: marks[0] for switch, marks in found.items() if marks}

    def switch_fault(self, switch: str, value: Any) -> str:
        """Why a switch cannot have a value, by its annotation; empty when it can."""
        return fault_of(value, hint_of(self.function, switch))

    def placed(self, params: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        """Switches that were written in a file of ``folder``: its relative paths (``PathOrName``) start from there."""
        return {
            switch: str((folder / value).absolute()) if self.takes_path(switch, value) else value
            for switch, value in params.items()
        }

    def takes_path(self, switch: str, value: Any) -> bool:
        """Whether a switch means the path of a file by a value."""
        return is_path(value, hint_of(self.function, switch))

    def consented(self, params: Mapping[str, Any], *, trust: bool) -> dict[str, Any]:
        """Switches as written, with the user's consent to run code that they name, where the metric asks for it.

        Raises UsageError for switches that give the consent themselves.
        """
        if TRUST in params:
            raise UsageError(f"{TRUST} is the user's to give, with the flag --{TRUST}; leave it out")
        return {**params, TRUST: True} if trust and TRUST in self.switches else dict(params)

    def missing(self) -> Iterator[MissingExtraError]:
        """The packages that it needs and that are not installed, each with the command that installs it."""
        for need in self.needs:
            module, _, extra = need.partition(":")
            package = module.partition(".")[0]
            if importlib.util.find_spec(package) is None:
                yield MissingExtraError(package, extra)

    def lacking_weights(self) -> Iterator[tuple[Weights, str]]:
        """The weights that are not on this machine, each with what lacks."""
        for item in self.weights:
            try:
                lacking = ", ".join(item.missing)
            except MmevalError as error:  # the library that knows the cache
                lacking = str(error)
            if lacking:
                yield item, lacking

    def unavailable(self, roles: frozenset[str], *, task: str = "TASK") -> str:
        """Why it cannot be computed here, in a run with these roles besides the model, with what changes it; empty
        when it can. ``task`` is the one that lists it."""
        for missing in self.missing():
            return str(missing)
        for item, lacking in self.lacking_weights():
            return f"its weights {item} are not here ({lacking}); run: mmeval prepare {task} --weights"
        for role in self.roles:
            if role != "model" and role not in roles:
                return f"it asks the role {role!r}, which this run has not; add --role {role}=BACKEND"
        return ""

    def bind(
        self, params: Mapping[str, Any] | None = None, profile: str = "standard", texts: PromptTexts | None = None
    ) -> BoundMetric:
        """The metric with its switches set: defaults, then the profile's, then ``params``. Prompts become
        ``{name, sha256, text}``; ``texts`` are words that replace those of the metric's own prompts.

        Raises UnknownNameError for a switch or a prompt that the metric does not have, UsageError for a value of the
        wrong type and for a prompt that cannot be used.
        """
        given = dict(params or {})
        for switch, value in given.items():
            if switch not in self.switches:
                raise UnknownNameError(f"switch of the metric {self.name!r}", switch, self.switches)
            if fault := self.switch_fault(switch, value):
                raise UsageError(f"the switch {switch!r} of the metric {self.name!r} {fault}")
        switches = {**self.switches, **self.profiles.get(profile, {}), **given}
        return BoundMetric(self, {**switches, **self._found_prompts(switches, texts or PromptTexts())}, profile)

    def _found_prompts(self, switches: Mapping[str, Any], texts: PromptTexts) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for switch, kind in self.prompts.items():
            prompt = find_prompt(switches[switch], Path(inspect.getfile(self.function)).parent / "prompts", texts)
            prompt.check(kind.names)
            found[switch] = prompt.to_json()
        return found


@dataclass(frozen=True)
class BoundMetric:
    """A metric and its switches: what a task scores with, and what a score set is keyed by."""

    metric: Metric
    params: Mapping[str, Any]
    profile: str = "standard"

    @property
    def name(self) -> str:
        return self.metric.name

    @property
    def key(self) -> str:
        """Names the definition: version and switches (the profile is spelt out in them)."""
        return digest([self.metric.name, self.metric.version, self.definition])[:12]

    @property
    def prompts(self) -> dict[str, Mapping[str, str]]:
        """The switches that are prompts, each as ``{name, sha256, text}``."""
        return {switch: self.params[switch] for switch in self.metric.prompts}

    @property
    def definition(self) -> dict[str, Any]:
        """The switches as scores depend on them: a prompt is its words, wherever they stand and whatever their name."""
        return {**self.params, **{switch: prompt["sha256"] for switch, prompt in self.prompts.items()}}

    @property
    def described(self) -> dict[str, Any]:
        """The switches for people to read: a prompt by its name and sha256; its words stand in the run's record."""
        short = {switch: {"name": p["name"], "sha256": p["sha256"]} for switch, p in self.prompts.items()}
        return {**self.params, **short}

    def sample_fault(self, sample: Sample) -> str:
        """Why no answer to a sample could be scored, as far as the metric can tell beforehand; empty when one could."""
        return "" if self.metric.check is None else self.metric.check(sample, self.params)

    def score(self, trial: Trial) -> MetricScores:
        """The scores of a trial. A metric that raises leaves the trial unscored, with the reason."""
        try:
            return self.normalise(self.metric.function(trial, **self.params))
        except (
            Exception,
            SystemExit,
        ) as error:  # a metric may fail in any way; the run goes on, the reason is recorded
            return self.failed(error)

    def program(self, trial: Trial, role: Callable[[str], Role]) -> Program[MetricScores]:
        """The scores of a trial by a judged metric, as a program."""
        generator: Generator[Any, Any, Any] = self.metric.function(
            trial, *(role(name) for name in self.metric.roles), **self.params
        )
        result = yield from generator
        return self.normalise(result)

    def failed(self, error: BaseException) -> MetricScores:
        """The scores of a trial on which the metric raised."""
        reason = f"{type(error).__name__}: {error}"
        if isinstance(error, PASSING):
            return self.lost(reason)
        return self.unscored(reason if isinstance(error, MmevalError) else reason + raised_at(error, __file__))

    def unscored(self, reason: str) -> MetricScores:
        return dict.fromkeys(self.metric.outputs, Score.unscored(reason))

    def lost(self, reason: str) -> MetricScores:
        """Unscored by what may be gone when the trial is scored again."""
        return dict.fromkeys(self.metric.outputs, Score.lost(reason))

    def normalise(self, result: Any) -> MetricScores:
        """A metric's return value as scores: a number, a ``Score``, or a mapping of output names to either."""
        if not isinstance(result, Mapping):
            if len(self.metric.outputs) != 1:
                raise PluginError(f"the metric {self.name!r} must return a mapping with {list(self.metric.outputs)}")
            return {self.metric.outputs[0]: self._checked(result)}
        if set(result) != set(self.metric.outputs):
            raise PluginError(f"the metric {self.name!r} returned {sorted(result)}, not {sorted(self.metric.outputs)}")
        return {name: self._checked(value) for name, value in result.items()}

    def _checked(self, value: Any) -> Score:
        """A value as a score. One that is no number, or outside the metric's range, is none: bounds and readers rely on
        the range."""
        score = value if isinstance(value, Score) else Score(value=float(value))
        if score.status != "scored":
            return self._bounded(score)
        low, high = self.metric.range
        if score.value is None or not math.isfinite(score.value):
            return replace(score, value=None, status="unscored", reason=f"the metric gave {score.value}")
        if not low - ROUNDING <= score.value <= high + ROUNDING:
            reason = f"the metric gave {score.value:g}, outside its range {low:g}..{high:g}"
            return replace(score, value=None, status="unscored", reason=reason)
        return score if type(score.value) is float else replace(score, value=float(score.value))

    def _bounded(self, score: Score) -> Score:
        """A score with bounds that lie in the metric's range, or without any: then the whole range stands for it."""
        if score.bounds is None:
            return score
        (low, high), (lowest, highest) = score.bounds, self.metric.range
        finite = math.isfinite(low) and math.isfinite(high)
        if finite and lowest - ROUNDING <= low <= high <= highest + ROUNDING:
            return score
        reason = f"{score.reason} (its bounds {low:g}..{high:g} are left out: its range is {lowest:g}..{highest:g})"
        return replace(score, bounds=None, reason=reason)


def metric(
    *,
    range: tuple[float, float],
    version: str,
    source: str,
    higher_is_better: bool = True,
    name: str = "",
    needs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    profiles: Mapping[str, Mapping[str, Any]] | None = None,
    check: SampleCheck | None = None,
    weights: Sequence[Weights] = (),
) -> Callable[[Callable[..., Any]], Metric]:
    """Describe a scoring function; its keyword-only arguments become switches, the others after the first, roles."""

    def describe(function: Callable[..., Any]) -> Metric:
        given = name or function.__name__
        parameters = list(inspect.signature(function).parameters.values())
        if not parameters or parameters[0].kind is parameters[0].KEYWORD_ONLY or parameters[0].name not in TRIAL:
            raise PluginError(
                f"the metric {given!r}: its first argument must be 'trial', as in def {given}(trial, *, switch=1); "
                "trial.output is the answer, trial.sample has the references"
            )
        switches = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
        for switch, default in switches.items():
            if default is inspect.Parameter.empty:
                raise PluginError(f"the metric {given!r}: the switch {switch!r} needs a default")
        roles = [p for p in parameters[1:] if p.kind is p.POSITIONAL_OR_KEYWORD]
        optional = [p.name for p in roles if p.default is not p.empty]
        if optional:
            raise PluginError(f"the metric {given!r}: write * before its switches ({', '.join(optional)})")
        return Metric(
            name=given,
            function=function,
            range=range,
            higher_is_better=higher_is_better,
            version=version,
            source=source,
            needs=tuple(needs),
            outputs=tuple(outputs) or (given,),
            roles=tuple(p.name for p in roles),
            profiles=profiles or {},
            switches=switches,
            check=check,
            weights=tuple(weights),
        )

    return describe


def load_metric(name: str) -> Metric:
    """A registered metric. Raises PluginError when the entry point names something else."""
    found = plugins.load("mmeval.metrics", name)
    if not isinstance(found, Metric):
        raise PluginError(f"the metric {name!r} is no function decorated with @metric (it is a {type(found).__name__})")
    return found
