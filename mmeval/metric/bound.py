"""Binds a metric to the values of its switches, for the scores of a task."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mmeval.errors import MissingExtraError, UnknownNameError, UsageError
from mmeval.metric.answer_filter import FILTERS, AnswerFilter, filters_of
from mmeval.metric.contract import Metric, Range
from mmeval.metric.model import bound_model, lacking, missing_model_message
from mmeval.metric.model_files import file_mark
from mmeval.metric.result import MetricScores
from mmeval.metric.signature import PIECES_SWITCH
from mmeval.program.prompt_file import PromptTexts, bound_prompts
from mmeval.program.role_variants import BY_KIND, played, who_is_asked
from mmeval.records.digests import digest
from mmeval.records.sample import Sample
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from mmeval.system.extras import absent


class Need(NamedTuple):
    """What has to be supplied before a metric can be computed here. ``name`` is an
    extra of mmeval, another package, a role, or the switch of a model."""

    kind: Literal["extra", "package", "role", "model"]
    name: str


@dataclass(frozen=True)
class BoundMetric:
    """A metric and its switches."""

    metric: Metric
    params: Mapping[str, Any]
    profile: str = "standard"
    asks: Mapping[str, str] = field(default_factory=dict)
    """The role that it asks in place of one that its arguments name, where these
    differ."""
    filters: tuple[AnswerFilter, ...] = ()
    """The filters of answers; it gives its outputs for each."""
    unfiltered: BoundMetric | None = None
    """The metric that scores a filtered answer, where there are filters."""

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of the run that it asks, in the order of its arguments."""
        return tuple(
            self.asks.get(argument, argument) for argument in self.metric.roles
        )

    @property
    def by_kind(self) -> tuple[str, ...]:
        """Those of its roles that may have variants for kinds of media."""
        return tuple(
            self.asks.get(argument, argument)
            for argument in self.metric.roles
            if argument in BY_KIND
        )

    def asked_roles(self, present: Collection[str]) -> tuple[str, ...]:
        """The roles asked in a run with ``present`` ones: its own, and variants by
        kind."""
        return who_is_asked(self.roles, self.by_kind, present)

    @property
    def pieces(self) -> tuple[str, ...]:
        """The outputs of which a derived metric is made; empty for any other."""
        return tuple(self.params[PIECES_SWITCH]) if self.metric.derived else ()

    @property
    def name(self) -> str:
        return self.metric.name

    @property
    def switches(self) -> dict[str, Any]:
        """What ``bind`` takes to bind it again: its switches, and its filters."""
        filters = [pipeline.to_json() for pipeline in self.filters]
        return {**self.params, **({FILTERS: filters} if filters else {})}

    @property
    def comparable(self) -> bool:
        """Whether its number compares with published ones, as far as its switches are
        concerned."""
        return not any(
            self.params[switch] == value
            for switch, value in self.metric.stand_ins.items()
        )

    @property
    def key(self) -> str:
        """A digest of the definition: version and switches (they contain the
        profile)."""
        return digest([self.metric.name, self.metric.version, self.definition])[:12]

    @property
    def prompts(self) -> dict[str, Mapping[str, str]]:
        """The switches that are prompts, each as ``{name, sha256, text}``."""
        return {switch: self.params[switch] for switch in self.metric.prompts}

    @property
    def definition(self) -> dict[str, Any]:
        """The switches as scores depend on them.

        A prompt counts by its words, whatever its place and name; a model by its files,
        and as empty where it is not needed; another file by its content.
        """
        models = {
            switch: self.models[switch]["fingerprint"] if self._needs(switch) else ""
            for switch in self.models
        }
        prompts = {switch: prompt["sha256"] for switch, prompt in self.prompts.items()}
        return {**self.switches, **prompts, **models, **self.files}

    @cached_property
    def files(self) -> dict[str, str]:
        """The SHA-256 of the file that a switch names, where it is here; models and
        prompts have their own."""
        return {
            switch: file_mark(Path(written))
            for switch, written in self._paths.items()
            if Path(written).is_file()
        }

    @property
    def _paths(self) -> dict[str, str]:
        """The switches that are set to a path, or to a name where they take either."""
        written = {switch: self.params[switch] for switch in self.metric.paths}
        return {
            switch: value
            for switch, value in written.items()
            if isinstance(value, str) and value
        }

    @property
    def described(self) -> dict[str, Any]:
        """The switches for people to read.

        A prompt by its name and sha256 (its words are in the run's record), a model by
        its name, revision and fingerprint, another file by its name and fingerprint.
        """
        short = {
            switch: {"name": p["name"], "sha256": p["sha256"]}
            for switch, p in self.prompts.items()
        }
        models = {
            switch: {key: value for key, value in model.items() if key != "folder"}
            for switch, model in self.models.items()
        }
        files = {
            switch: {"name": Path(self._paths[switch]).name, "fingerprint": mark}
            for switch, mark in self.files.items()
        }
        return {**self.switches, **short, **models, **files}

    @property
    def models(self) -> dict[str, Mapping[str, str]]:
        """The switches that name models: ``{name, revision, folder, fingerprint}``
        each."""
        return {switch: self.params[switch] for switch in self.metric.models}

    def _needs(self, switch: str) -> bool:
        return self.metric.models[switch].is_needed(self.params)

    @property
    def at_once(self) -> int:
        """The number of trials that it scores at once in the process that holds models.

        It is its batch, or 1 where it opens a model; 0 for a metric that any process
        may compute, such as one whose switches make its models unnecessary.
        """
        opens = any(
            self._needs(switch) and model["name"]
            for switch, model in self.models.items()
        )
        if self.models and not opens:
            return 0
        return self.metric.batch or int(opens)

    def missing_models(self) -> Iterator[tuple[str, str]]:
        """The switches whose models are not on this machine, each with the missing
        files."""
        for switch, model in self.models.items():
            here = model["fingerprint"] or not self._needs(switch)
            if lacks := "" if here else lacking(model, self.metric.models[switch]):
                yield switch, lacks

    def without_models(self, task: str = "TASK") -> str:
        """Why it cannot be computed for lack of a model, with the command that gets it.
        Empty when all models are here. An empty ``task``: the metric is scored alone,
        without a task."""
        for switch, lacks in self.missing_models():
            by_hand = self.metric.models[switch].by_hand
            return missing_model_message(
                self.models[switch], lacks, task, switch=switch, by_hand=by_hand
            )
        return ""

    @property
    def needs(self) -> tuple[str, ...]:
        """The modules that it imports with its switches, each as ``module:extra``."""
        of = self.metric.needs
        return tuple(of(self.params)) if callable(of) else of

    def missing(self) -> Iterator[MissingExtraError]:
        """The needed packages that are not installed, each with the command to install
        it."""
        return absent(self.needs)

    def unavailable(self, roles: Collection[str], task: str = "TASK") -> str:
        """Why it cannot be computed in a run with these roles; empty when it can.

        The reason names all that is to be supplied: packages, roles besides the model,
        models of its own, files; behind the first semicolon stands how.
        """
        every = (
            self._without_packages(),
            self._without_roles(roles),
            self.without_models(task),
            self._without_files(),
        )
        parts = [reason.partition("; ") for reason in every if reason]
        whys, ways = [why for why, _, _ in parts], [way for _, _, way in parts if way]
        return "; ".join([", and ".join(whys), *ways]) if parts else ""

    def _without_packages(self) -> str:
        lacking = list(self.missing())
        extras = dict.fromkeys(error.extra for error in lacking if error.extra)
        return (
            str(MissingExtraError(lacking[0].package, ",".join(extras)))
            if lacking
            else ""
        )

    def _without_files(self) -> str:
        """The first path that a switch names where nothing is; empty without any."""
        for switch, path in self._paths.items():
            if path.startswith(("/", ".")) and not Path(path).exists():
                return (
                    f"its switch {switch!r} names {path}, which is not there; put it "
                    "there, or name another"
                )
        return ""

    def missing_needs(self, roles: Collection[str]) -> tuple[Need, ...]:
        """All that has to be supplied for a run with these roles; empty when nothing is
        missing."""
        packages = [
            Need("extra", e.extra) if e.extra else Need("package", e.package)
            for e in self.missing()
        ]
        others = [Need("role", role) for role in self._missing_roles(roles).values()]
        models = [Need("model", switch) for switch, _ in self.missing_models()]
        return tuple(dict.fromkeys([*packages, *others, *models]))

    def _missing_roles(self, present: Collection[str]) -> dict[str, str]:
        """The roles that a run has to have besides, by the metric's own names of
        them."""
        asked = {
            argument: self.asks.get(argument, argument)
            for argument in self.metric.roles
        }
        return {
            argument: role
            for argument, role in asked.items()
            if role != "model"
            and not (played(role, present) if argument in BY_KIND else role in present)
        }

    def _without_roles(self, present: Collection[str]) -> str:
        """The missing roles with their flags; empty without any."""
        missing = self._missing_roles(present)
        lacking = {
            role: f"{role!r}" + (f" (as its {argument})" if role != argument else "")
            for argument, role in missing.items()
        }
        if not lacking:
            return ""
        flags = " ".join(f"--role {role}=BACKEND" for role in lacking)
        those = "role" if len(lacking) == 1 else "roles"
        return (
            f"it asks the {those} {' and '.join(lacking.values())}, which this run "
            f"has not; add {flags}"
        )

    def sample_fault(self, sample: Sample) -> str:
        """Why no answer to a sample could be scored; empty when one could."""
        return (
            "" if self.metric.check is None else self.metric.check(sample, self.params)
        )

    def supposed(self, trial: Trial) -> Trial:
        """A trial for a dry run, with an answer after which the metric asks the
        most."""
        answer = (
            None
            if self.metric.supposed is None
            else self.metric.supposed(trial, self.params)
        )
        return trial if answer is None else replace(trial, output=answer)

    def unscored(self, reason: str) -> MetricScores:
        return dict.fromkeys(self.metric.outputs, Score.unscored(reason))

    def refused(self, reason: str) -> MetricScores:
        """Unscored since a role refuses what the metric asks."""
        return dict.fromkeys(self.metric.outputs, Score.refused(reason))

    def lost(self, reason: str) -> MetricScores:
        """Unscored by what may be gone when the trial is scored again."""
        return dict.fromkeys(self.metric.outputs, Score.lost(reason))


def bind(
    metric: Metric,
    params: Mapping[str, Any] | None = None,
    profile: str = "standard",
    texts: PromptTexts | None = None,
) -> BoundMetric:
    """A metric with its switches set: defaults, then the profile's, then ``params``.
    Prompts become ``{name, sha256, text}``; ``texts`` are words that replace those of
    the metric's own prompts. ``filter_list`` in ``params`` are the filters of answers.

    Raises UnknownNameError for a switch or a prompt that the metric does not have,
    UsageError for a value of the wrong type and for a prompt that cannot be used.
    """
    given = dict(params or {})
    filters = filters_of(given.pop(FILTERS, ()))
    for switch, value in given.items():
        if switch not in metric.switches:
            hint = (
                f"It has: {', '.join(metric.switches)}."
                if metric.switches
                else "It has none."
            )
            raise UnknownNameError(
                f"switch of the metric {metric.name!r}", switch, metric.switches, hint
            )
        if fault := metric.switch_fault(switch, value):
            raise UsageError(
                f"the switch {switch!r} of the metric {metric.name!r} {fault}",
                name=switch,
            )
    switches = {**metric.switches, **metric.profiles.get(profile, {}), **given}
    models = {
        switch: bound_model(switches[switch], model)
        for switch, model in metric.models.items()
    }
    prompts = bound_prompts(
        metric.function, metric.prompts, switches, texts or PromptTexts()
    )
    metric = metric.ranged(switches)
    if metric.direction_of is not None:
        metric = replace(metric, higher_is_better=metric.direction_of(switches))
    bound = BoundMetric(metric, {**switches, **prompts, **models}, profile)
    return _filtered(bound, filters) if filters else bound


def _filtered(bound: BoundMetric, filters: Sequence[AnswerFilter]) -> BoundMetric:
    """A metric that gives its outputs for each filter."""
    outputs: list[str] = []
    ranges: dict[str, Range] = {}
    for pipeline in filters:
        for output in bound.metric.outputs:
            name = pipeline.output(output)
            outputs.append(name)
            ranges[name] = bound.metric.range_for(output)
    metric = replace(bound.metric, outputs=tuple(outputs), ranges=ranges)
    return replace(bound, metric=metric, filters=tuple(filters), unfiltered=bound)
