"""Binds a metric to the values of its switches, to score a task."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mmeval.errors import MissingExtraError, UnknownNameError, UsageError
from mmeval.findings.finding import Finding, Subject
from mmeval.findings.from_error import finding_of
from mmeval.metric.answer_filter import FILTERS, AnswerFilter, filters_of
from mmeval.metric.contract import Metric, Range
from mmeval.metric.model import bound_model, missing_files, named_in
from mmeval.metric.model_files import file_mark
from mmeval.metric.result import MetricScores
from mmeval.metric.signature import PIECES_SWITCH
from mmeval.program.prompt_file import CALL, PromptTexts, bound_prompts
from mmeval.program.role_variants import BY_KIND, has_role, with_variants
from mmeval.records.digests import digest
from mmeval.records.sample import Sample
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from mmeval.system.extras import absent

PREPARE_WEIGHTS = "mmeval prepare {TASK} --weights"
_SHOWN_OF_A_PROMPT = ("name", "sha256", "words", "released")
_USUAL_BACKENDS = {"code_interpreter": "sandbox"}
"""The usual backend for each role that cannot be a model server."""


@dataclass(frozen=True)
class BoundMetric:
    """A metric with the values of its switches."""

    metric: Metric
    params: Mapping[str, Any]
    profile: str = "standard"
    asks: Mapping[str, str] = field(default_factory=dict)
    """The role of the run to use in place of the role that each argument names."""
    filters: tuple[AnswerFilter, ...] = ()
    """The filters of answers. The metric has each of its outputs once per filter."""
    unfiltered: BoundMetric | None = None
    """The metric that scores a filtered answer, or None without filters."""

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of the run that the metric calls, in the order of its arguments."""
        return tuple(self._roles_by_argument.values())

    @property
    def by_kind(self) -> tuple[str, ...]:
        """The roles that may have variants for kinds of media."""
        roles = self._roles_by_argument
        return tuple(roles[argument] for argument in roles if argument in BY_KIND)

    @property
    def _roles_by_argument(self) -> dict[str, str]:
        """The roles of the run that the metric calls, by argument."""
        return {role: self.asks.get(role, role) for role in self.metric.roles}

    def called_roles(self, present: Collection[str]) -> tuple[str, ...]:
        """Returns the roles that the metric calls in a run with these roles.

        Variants of roles are included.
        """
        return with_variants(self.roles, self.by_kind, present)

    @property
    def pieces(self) -> tuple[str, ...]:
        """The outputs that a derived metric is computed from.

        The tuple is empty for any other metric.
        """
        return tuple(self.params[PIECES_SWITCH]) if self.metric.derived else ()

    @property
    def name(self) -> str:
        return self.metric.name

    @property
    def switches(self) -> dict[str, Any]:
        """The ``params`` with which ``bind`` returns the same metric and filters."""
        if not self.filters:
            return dict(self.params)
        filters = [pipeline.to_json() for pipeline in self.filters]
        return {**self.params, FILTERS: filters}

    @property
    def comparable(self) -> bool:
        """True if the switches allow a comparison with published results."""
        stand_ins = self.metric.stand_ins
        return all(self.params[switch] != stand_ins[switch] for switch in stand_ins)

    @property
    def key(self) -> str:
        """A digest of the metric's name, version, profile and switches."""
        metric = self.metric
        return digest([metric.name, metric.version, self.definition])[:12]

    @property
    def prompts(self) -> dict[str, Mapping[str, Any]]:
        """The switches that are prompts, each as ``{name, sha256, text}``."""
        return {switch: self.params[switch] for switch in self.metric.prompts}

    @property
    def definition(self) -> dict[str, Any]:
        """The switches, reduced to what the scores depend on.

        A prompt is represented by its text and its released call, a model by its files,
        and any other file by its content. The value is empty for a model that is not
        needed. Names and paths are not included.
        """
        models = {}
        for switch, model in self.models.items():
            models[switch] = model["fingerprint"] if self._needs(switch) else ""
        prompts = {}
        for switch, prompt in self.prompts.items():
            prompts[switch] = prompt["sha256"]
            if CALL in prompt:
                prompts[switch] = digest([prompt["sha256"], prompt[CALL]])
        return {**self.switches, **prompts, **models, **self.files}

    @cached_property
    def files(self) -> dict[str, str]:
        """The SHA-256 of each existing file that a switch names, except models."""
        marks = {}
        for switch, path in self._paths.items():
            if Path(path).is_file():
                marks[switch] = file_mark(Path(path))
        return marks

    @property
    def _paths(self) -> dict[str, str]:
        """The values of switches that may be a path or a name, without empty values."""
        paths = {}
        for switch in self.metric.paths:
            path = self.params[switch]
            if isinstance(path, str) and path:
                paths[switch] = path
        return paths

    @property
    def described(self) -> dict[str, Any]:
        """The switches in a short form for display.

        A prompt is shown by its name and sha256, and whose words it is in if they are
        not our own. The run's record has its text.
        A model is shown by its name, revision and fingerprint, and any other file by
        its name and fingerprint.
        """
        described = self.switches
        for switch, prompt in self.prompts.items():
            shown = [name for name in _SHOWN_OF_A_PROMPT if name in prompt]
            described[switch] = {name: prompt[name] for name in shown}
        for switch, model in self.models.items():
            described[switch] = {key: model[key] for key in model if key != "folder"}
        for switch, mark in self.files.items():
            name = Path(self._paths[switch]).name
            described[switch] = {"name": name, "fingerprint": mark}
        return described

    @property
    def models(self) -> dict[str, Mapping[str, str]]:
        """The switches that name models.

        Each value is ``{name, revision, folder, fingerprint}``.
        """
        return {switch: self.params[switch] for switch in self.metric.models}

    def _needs(self, switch: str) -> bool:
        return self.metric.models[switch].is_needed(self.params)

    @property
    def at_once(self) -> int:
        """The number of trials that the process with models scores at once.

        The number is ``batch``, or 1 for a metric without ``batch`` that needs a model.
        It is 0 if any process may compute the metric, for example because the metric
        needs no model with these switches.
        """
        opens = False
        for switch, model in self.models.items():
            if model["name"] and self._needs(switch):
                opens = True
        if self.models and not opens:
            return 0
        return self.metric.batch or int(opens)

    def missing_models(self) -> Iterator[tuple[str, str]]:
        """Yields the switches for models that are not on this machine.

        Each switch is followed by the names of the missing files.
        """
        for switch, model in self.models.items():
            if model["fingerprint"] or not self._needs(switch):
                continue
            lacks = missing_files(model, self.metric.models[switch])
            if lacks:
                yield switch, lacks

    @property
    def needs(self) -> tuple[str, ...]:
        """The optional modules that the metric imports, each as ``module:extra``."""
        of = self.metric.needs
        return tuple(of(self.params)) if callable(of) else of

    def missing(self) -> Iterator[MissingExtraError]:
        """Yields an error for each needed package that is not installed."""
        return absent(self.needs)

    def lacks(self, roles: Collection[str]) -> tuple[Finding, ...]:
        """Returns what the metric needs but does not find in a run with these roles.

        The result may contain packages, roles other than the model under test, models
        of metrics, and files. The tuple is empty if the metric is available.
        """
        findings: list[Finding] = []
        for error in self.missing():
            subject = Subject(metric=self.name, name=error.extra or error.package)
            findings.append(finding_of(error, subject, "warning"))
        for argument, role in self._roles_by_argument.items():
            by_kind = argument in BY_KIND
            is_present = has_role(role, roles) if by_kind else role in roles
            if role != "model" and not is_present:
                findings.append(missing_role(self.name, role))
        for switch, files in self.missing_models():
            findings.append(self._missing_model(switch, files))
        for switch, path in self._paths.items():
            if path.startswith(("/", ".")) and not Path(path).exists():
                subject = Subject(metric=self.name, file=path)
                cause = f"missing (the file of the switch {switch})"
                findings.append(Finding("missing_data", subject, cause=cause))
        return tuple(dict.fromkeys(findings))

    def _missing_model(self, switch: str, files: str) -> Finding:
        model = named_in(self.models[switch])
        by_hand = self.metric.models[switch].by_hand
        files_of_model = self.metric.models[switch].files
        required = [name for name in files_of_model if not name.endswith("|")]
        cause, remedy = "not here", PREPARE_WEIGHTS
        if files != ", ".join(required).replace("|", " or "):
            cause = f"not here ({files})"
        if model.folder is not None:
            cause, remedy = f"lacks {files}", ""
        elif by_hand:
            cause, remedy = f"{cause}; {by_hand}", ""
        subject = Subject(metric=self.name, name=str(model))
        return Finding("missing_weights", subject, cause=cause, remedy=remedy)

    def sample_fault(self, sample: Sample) -> str:
        """Returns why no answer to a sample can be scored.

        The string is empty if an answer can be scored.
        """
        check = self.metric.check
        return "" if check is None else check(sample, self.params)

    def supposed(self, trial: Trial) -> Trial:
        """Returns the trial for a dry run.

        The answer of this trial is the one that leads to the most calls.
        """
        if self.metric.supposed is None:
            return trial
        return replace(trial, output=self.metric.supposed(trial, self.params))

    def unscored(self, reason: str) -> MetricScores:
        return dict.fromkeys(self.metric.outputs, Score.unscored(reason))

    def refused(self, reason: str) -> MetricScores:
        """Returns unscored scores, whose reason is that a role refuses the request."""
        return dict.fromkeys(self.metric.outputs, Score.refused(reason))

    def lost(self, reason: str) -> MetricScores:
        """Returns unscored scores for a temporary reason.

        If the trial is scored again later, it may get a score.
        """
        return dict.fromkeys(self.metric.outputs, Score.lost(reason))


def missing_role(metric: str, role: str) -> Finding:
    """Returns the finding that a run lacks a role of a metric.

    Its remedy is the flag that adds the role.
    """
    flag, cause = f"--role {role}=", f"no backend for the role {role}"
    if role in ("judge", "captioner"):
        flag, cause = f"--{role} ", f"the run has no {role}"
    remedy = flag + _USUAL_BACKENDS.get(role, "openai,model=NAME")
    subject = Subject(metric=metric, role=role)
    return Finding("missing_role", subject, cause=cause, remedy=remedy)


def bind(
    metric: Metric,
    params: Mapping[str, Any] | None = None,
    profile: str = "standard",
    texts: PromptTexts | None = None,
) -> BoundMetric:
    """Sets the switches of a metric: defaults, then the profile's, then ``params``.

    ``filter_list`` in ``params`` sets the filters of answers. Prompts become ``{name,
    sha256, text}``. ``texts`` may replace the texts of prompts.

    Raises UnknownNameError for an unknown switch or prompt. Raises UsageError for a
    value of the wrong type and for a prompt that cannot be used.
    """
    values = dict(params or {})
    filters = filters_of(values.pop(FILTERS, ()))
    for switch, value in values.items():
        if switch not in metric.switches:
            hint = "The metric has no switches."
            if metric.switches:
                hint = f"Its switches are: {', '.join(metric.switches)}."
            raise UnknownNameError(
                f"switch of the metric {metric.name!r}", switch, metric.switches, hint
            )
        if fault := metric.switch_fault(switch, value):
            raise UsageError(
                f"the switch {switch!r} of the metric {metric.name!r} {fault}",
                name=switch,
            )
    switches = {**metric.switches, **metric.profiles.get(profile, {}), **values}
    models = {}
    for switch, model in metric.models.items():
        models[switch] = bound_model(switches[switch], model)
    prompts = bound_prompts(
        metric.function, metric.prompts, switches, texts or PromptTexts()
    )
    metric = metric.ranged(switches)
    if metric.direction_of is not None:
        metric = replace(metric, higher_is_better=metric.direction_of(switches))
    bound = BoundMetric(metric, {**switches, **prompts, **models}, profile)
    return _filtered(bound, filters) if filters else bound


def _filtered(bound: BoundMetric, filters: Sequence[AnswerFilter]) -> BoundMetric:
    """Returns the metric with each of its outputs once per filter."""
    outputs: list[str] = []
    ranges: dict[str, Range] = {}
    for pipeline in filters:
        for output in bound.metric.outputs:
            name = pipeline.output(output)
            outputs.append(name)
            ranges[name] = bound.metric.range_for(output)
    metric = replace(bound.metric, outputs=tuple(outputs), ranges=ranges)
    return replace(bound, metric=metric, filters=tuple(filters), unfiltered=bound)
