"""A metric with its switches set: what a task scores with, and what a score set is keyed by."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from mmeval.batchscore import score_all
from mmeval.digest import digest
from mmeval.errors import MissingExtraError, MmevalError
from mmeval.metricmodel import lacking, lacking_message
from mmeval.metricresult import MetricScores, scores_of
from mmeval.metricsignature import PIECES
from mmeval.modelfault import WeightsError
from mmeval.program import Program, Role
from mmeval.raisedat import raised_at
from mmeval.records import Sample, Score, Trial
from mmeval.rolekinds import BY_KIND, played, who_is_asked

if TYPE_CHECKING:  # which makes these
    from mmeval.metric import Metric

PASSING = (TimeoutError, ConnectionError, MemoryError)
"""What a metric may fail with although it would score the same answer another time."""

_CALLERS = (__file__, scores_of.__code__.co_filename, score_all.__code__.co_filename)
"""The files that call a metric and look at what it returned."""


@dataclass(frozen=True)
class BoundMetric:
    """A metric and its switches."""

    metric: Metric
    params: Mapping[str, Any]
    profile: str = "standard"
    asks: Mapping[str, str] = field(default_factory=dict)
    """Whom it asks in the place of a role that its arguments name, where that is somebody else."""

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of the run that it asks, in the order of its arguments."""
        return tuple(self.asks.get(argument, argument) for argument in self.metric.roles)

    @property
    def by_kind(self) -> tuple[str, ...]:
        """Those of its roles that a run may have a variant of for a kind of medium."""
        return tuple(self.asks.get(argument, argument) for argument in self.metric.roles if argument in BY_KIND)

    def whom(self, present: Collection[str]) -> tuple[str, ...]:
        """The roles that it asks in a run that has those which are present: its own, and their variants by kind."""
        return who_is_asked(self.roles, self.by_kind, present)

    @property
    def pieces(self) -> tuple[str, ...]:
        """The outputs of which a derived metric is made; empty for any other."""
        return tuple(self.params[PIECES]) if self.metric.derived else ()

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
        """The switches as scores depend on them: a prompt is its words, wherever they stand and whatever their name; a
        model is its files, and nothing where it is not needed."""
        models = {switch: self.models[switch]["fingerprint"] if self._needs(switch) else "" for switch in self.models}
        return {**self.params, **{switch: prompt["sha256"] for switch, prompt in self.prompts.items()}, **models}

    @property
    def described(self) -> dict[str, Any]:
        """The switches for people to read: a prompt by its name and sha256 (its words stand in the run's record), a
        model by its name, revision and fingerprint."""
        short = {switch: {"name": p["name"], "sha256": p["sha256"]} for switch, p in self.prompts.items()}
        models = {
            switch: {key: value for key, value in model.items() if key != "folder"}
            for switch, model in self.models.items()
        }
        return {**self.params, **short, **models}

    @property
    def models(self) -> dict[str, Mapping[str, str]]:
        """The switches that name models, each as ``{name, revision, folder, fingerprint}``."""
        return {switch: self.params[switch] for switch in self.metric.models}

    def _needs(self, switch: str) -> bool:
        return self.metric.models[switch].is_needed(self.params)

    @property
    def at_once(self) -> int:
        """How many trials it is scored with at once where models are held: its batch, 1 where it opens a model; 0 for
        a metric that any process may compute, such as one whose switches make its models unnecessary."""
        opens = any(self._needs(switch) and model["name"] for switch, model in self.models.items())
        if self.models and not opens:
            return 0
        return self.metric.batch or int(opens)

    def lacking_models(self) -> Iterator[tuple[str, str]]:
        """The switches whose models are not on this machine, each with what lacks."""
        for switch, model in self.models.items():
            here = model["fingerprint"] or not self._needs(switch)
            if lacks := "" if here else lacking(model, self.metric.models[switch]):
                yield switch, lacks

    def without_models(self, task: str = "TASK") -> str:
        """Why it cannot be computed for lack of a model, with the command that gets it; empty when all are here. An
        empty ``task`` says that none is scored, but the metric alone."""
        for switch, lacks in self.lacking_models():
            by_hand = self.metric.models[switch].by_hand
            return lacking_message(self.models[switch], lacks, task, switch=switch, by_hand=by_hand)
        return ""

    @property
    def needs(self) -> tuple[str, ...]:
        """The modules that it imports with its switches, each as ``module:extra``."""
        of = self.metric.needs
        return tuple(of(self.params)) if callable(of) else of

    def missing(self) -> Iterator[MissingExtraError]:
        """The packages that it needs and that are not installed, each with the command that installs it."""
        for need in self.needs:
            module, _, extra = need.partition(":")
            package = module.partition(".")[0]
            if importlib.util.find_spec(package) is None:
                yield MissingExtraError(package, extra)

    def unavailable(self, roles: Collection[str], task: str = "TASK") -> str:
        """Why it cannot be computed here, in a run with these roles besides the model, with what changes it: a package,
        a role or a model; empty when it can."""
        for missing in self.missing():
            return str(missing)
        return self._without_roles(roles) or self.without_models(task)

    def _without_roles(self, present: Collection[str]) -> str:
        """All roles that a run would have to have besides, with the flags that add them; empty when there are none."""
        asked = {argument: self.asks.get(argument, argument) for argument in self.metric.roles}
        lacking = {
            role: f"{role!r}" + (f" (as its {argument})" if role != argument else "")
            for argument, role in asked.items()
            if role != "model" and not (played(role, present) if argument in BY_KIND else role in present)
        }
        if not lacking:
            return ""
        flags = " ".join(f"--role {role}=BACKEND" for role in lacking)
        those = "role" if len(lacking) == 1 else "roles"
        return f"it asks the {those} {' and '.join(lacking.values())}, which this run has not; add {flags}"

    def sample_fault(self, sample: Sample) -> str:
        """Why no answer to a sample could be scored, as far as the metric can tell beforehand; empty when one could."""
        return "" if self.metric.check is None else self.metric.check(sample, self.params)

    def supposed(self, trial: Trial) -> Trial:
        """A trial whose answer is only a stand-in, with one after which the metric asks what it asks at most."""
        answer = None if self.metric.supposed is None else self.metric.supposed(trial, self.params)
        return trial if answer is None else replace(trial, output=answer)

    def score(self, trial: Trial) -> MetricScores:
        """The scores of a trial. A metric that raises leaves the trial unscored, with the reason."""
        if self.metric.batch:
            return score_all(self, [trial])[0]
        return self.combined(trial)

    def score_all(self, trials: Sequence[Trial]) -> list[MetricScores]:
        """The scores of each trial, in order; of a batched metric many at once. An answer that makes it raise costs
        only itself."""
        return score_all(self, trials) if self.metric.batch else [self.score(trial) for trial in trials]

    def combined(self, given: Trial | MetricScores) -> MetricScores:
        """What a metric makes of a trial, or a derived one of the scores of its pieces; unscored with the reason where
        it raises."""
        try:
            return self.normalise(self.metric.function(given, **self.params))
        except (Exception, SystemExit) as error:  # a metric may fail in any way; the reason is recorded
            return self.failed(error)

    def program(self, trial: Trial, role: Callable[[str], Role]) -> Program[MetricScores]:
        """The scores of a trial by a judged metric, as a program."""
        generator: Generator[Any, Any, Any] = self.metric.function(
            trial, *(role(name) for name in self.roles), **self.params
        )
        result = yield from generator
        return self.normalise(result)

    def failed(self, error: BaseException) -> MetricScores:
        """The scores of a trial on which the metric raised."""
        reason = f"{type(error).__name__}: {error}"
        if isinstance(error, (*PASSING, WeightsError)):  # they may be put right
            return self.lost(reason)
        return self.unscored(reason if isinstance(error, MmevalError) else reason + raised_at(error, *_CALLERS))

    def unscored(self, reason: str) -> MetricScores:
        return dict.fromkeys(self.metric.outputs, Score.unscored(reason))

    def lost(self, reason: str) -> MetricScores:
        """Unscored by what may be gone when the trial is scored again."""
        return dict.fromkeys(self.metric.outputs, Score.lost(reason))

    def normalise(self, result: Any) -> MetricScores:
        """A metric's return value as scores: a number, a ``Score``, or a mapping of output names to either."""
        return scores_of(result, self.metric.name, self.metric.outputs, self.metric.range)
