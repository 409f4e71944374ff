"""The builder: a task file, the plugins that it names and the command line's overrides become a runnable task."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from mmeval import plugins
from mmeval.aggregate import load_aggregator
from mmeval.content import PART_KINDS, Interleaved, PartKind
from mmeval.dataset import Loader
from mmeval.errors import UnknownNameError, UsageError, did_you_mean, written_instead
from mmeval.media import path_inside
from mmeval.metric import TRUST, BoundMetric, Metric, load_metric
from mmeval.profiles import PROFILES
from mmeval.program import Program
from mmeval.prompt import FunctionPrompt, InstructedPrompt, Prompt, PromptError, plain_prompt
from mmeval.promptfile import PromptTexts, is_prompt_path, prompt_files, read_prompt_folder
from mmeval.protocols import Ask
from mmeval.records import GenerationParams, Sample
from mmeval.switches import fault_of, hint_of
from mmeval.task import Task, TaskMetric, TaskOverrides
from mmeval.taskdata import portable, task_data
from mmeval.taskfile import TaskFile
from mmeval.taskindex import word_for
from mmeval.taskschema import ABOUT_DATA, MAX_REPEATS, PER_SAMPLE, MetricKeys
from mmeval.taskyaml import KeyPath

T = TypeVar("T")


def build(file: TaskFile, overrides: TaskOverrides | None = None, *, roles: frozenset[str] = frozenset()) -> Task:
    """The task of a file. No data are read: ``Task.dataset()`` does that, and downloads what is missing.

    ``roles`` are the roles that the run has besides the model. Raises one TaskFileError with every plugin, option and
    switch that does not exist, each with its line; PluginError for a plugin that cannot be imported.
    """
    given = overrides or TaskOverrides()
    if given.profile not in ("", *PROFILES):
        raise UnknownNameError("profile", given.profile, PROFILES, f"--profile takes {' or '.join(PROFILES)}.")
    faults = [*_faults(file, given, roles)]
    if faults:
        raise file.document.errors(faults)
    keys = file.keys
    data = task_data(file, given, _loader(file))
    metrics = tuple(_metric(file, position, given, roles) for position in _positions(file, given))
    return Task(
        name=file.name,
        alias=keys.task_alias or file.name,
        version=file.version,
        file=file.document.file,
        config=_config(file, given, metrics),
        dataset=data,
        source=data.record,
        prompt=_prompt(file, given),
        protocol=_protocol(file, given),
        protocol_name=given.protocol or keys.protocol.name,
        wanted=_wanted(file),
        params=_params(file, given),
        given_options=frozenset(GenerationParams.from_mapping(given.gen_kwargs).options),
        metrics=metrics,
        repeats=_repeats(file, given),
        partial_output=keys.partial_output,
        missing_output=keys.missing_output,
        cluster_key=keys.cluster_key,
        breakdown=tuple(keys.breakdown),
        filter=keys.filter,
        metadata=keys.metadata,
        roles={role: GenerationParams.from_mapping(params) for role, params in keys.roles.items()},
        input_modalities=cast("tuple[PartKind, ...]", tuple(keys.input_modalities)),
        comparable=given.data != "bundled",
    )


def check_prompt_names(tasks: Sequence[Task], overrides: TaskOverrides) -> None:
    """Raises UsageError for a file of ``--judge_prompts`` that replaces no prompt of the tasks."""
    if overrides.judge_prompts is None:
        return
    used = {prompt["name"] for task in tasks for metric in task.metrics for prompt in metric.bound.prompts.values()}
    unused = sorted(read_prompt_folder(overrides.judge_prompts).keys() - used)
    if unused:
        raise UsageError(
            f"--judge_prompts {overrides.judge_prompts}: {unused[0]!r} is no prompt of the chosen tasks"
            f"{did_you_mean(unused[0], used)} (they use {', '.join(sorted(used)) or 'none'})"
        )


def check_metric_names(known: Collection[str], overrides: TaskOverrides) -> None:
    """Raises UnknownNameError for a metric that the command line names and that is not one of the tasks'."""
    for flag, names in (("--metric_args", overrides.metric_args), ("--skip_metric", overrides.skip_metric)):
        for name in names:
            if name not in known:
                hint = f"{flag} takes a metric of the chosen tasks: {', '.join(sorted(known)) or 'they have none'}."
                raise UnknownNameError("metric", name, known, hint)


def _faults(file: TaskFile, overrides: TaskOverrides, roles: frozenset[str]) -> Iterator[tuple[KeyPath, str]]:
    """Every plugin, option and switch that does not exist. The plugins are cached, so asking twice costs nothing."""
    steps: list[Callable[[], object]] = [
        partial(_loader, file),
        partial(_protocol, file, overrides),
        partial(_prompt, file, overrides),
        *(partial(_metric, file, position, overrides, roles) for position in _positions(file, overrides)),
        partial(_check_outputs, file, overrides),
    ]
    for step in steps:
        try:
            step()
        except _FaultsError as error:
            yield from error.problems


class _FaultsError(UsageError):
    """Faults of one step, each at its key."""

    def __init__(self, *problems: tuple[KeyPath, str]) -> None:
        super().__init__("; ".join(message for _, message in problems))
        self.problems = problems


def _plugin(load: Callable[[str], T], name: str, path: KeyPath) -> T:
    try:
        return load(name)
    except UnknownNameError as error:
        raise _FaultsError((path, str(error))) from None


def _name_path(file: TaskFile, path: KeyPath) -> KeyPath:
    """Where the name stands in ``key: name`` and in ``key: {name: ..., ...}``."""
    return (*path, "name") if (*path, "name") in file.document.places else path


def _check_options(function: Callable[..., Any], options: Mapping[str, Any], path: KeyPath) -> None:
    """Faults for the options that a plugin's function does not take; its first parameter is no option."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    known = [p.name for p in parameters if p.kind is not p.VAR_POSITIONAL]
    faults = [((*path, name), f"unknown key{did_you_mean(name, known)}") for name in options if name not in known]
    missing = [
        p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty and p.name not in options
    ]
    faults += [(path, f"the option {name!r} is missing") for name in missing]
    if faults:
        raise _FaultsError(*faults)


def _check_values(function: Callable[..., Any], options: Mapping[str, Any], path: KeyPath) -> None:
    """Faults for options whose values the function's annotations do not allow."""
    found = [((*path, name), fault_of(value, hint_of(function, name))) for name, value in options.items()]
    if faults := [(place, fault) for place, fault in found if fault]:
        raise _FaultsError(*faults)


def _loader(file: TaskFile) -> Loader:
    found: Loader = _plugin(partial(plugins.load, "mmeval.loaders"), file.keys.loader, ("loader",))
    return found


def _protocol(file: TaskFile, overrides: TaskOverrides) -> Callable[[Ask], Program[Interleaved]]:
    named = file.keys.protocol
    if overrides.protocol not in ("", named.name):  # else the options of the file stand
        return _protocol_of_run(overrides.protocol)
    function = _plugin(partial(plugins.load, "mmeval.protocols"), named.name, _name_path(file, ("protocol",)))
    _check_options(function, named.options, ("protocol",))
    return (
        partial(function, **named.options) if named.options else cast("Callable[[Ask], Program[Interleaved]]", function)
    )


def _protocol_of_run(name: str) -> Callable[[Ask], Program[Interleaved]]:
    """The protocol that the command line names. Raises UnknownNameError for a name that nobody has registered,
    UsageError for a protocol that cannot do without options."""
    if name not in (known := plugins.names("mmeval.protocols")):
        raise UnknownNameError("protocol", name, known, f"--protocol takes {', '.join(known)}.")
    function = plugins.load("mmeval.protocols", name)
    try:
        _check_options(function, {}, ())
    except _FaultsError as error:
        raise UsageError(f"--protocol {name}: {error}; name it in a task file, which can give its options") from None
    return cast("Callable[[Ask], Program[Interleaved]]", function)


def _prompt(file: TaskFile, overrides: TaskOverrides) -> Prompt:
    prompt = _own_prompt(file)
    return InstructedPrompt(overrides.system_instruction, prompt) if overrides.system_instruction else prompt


def _own_prompt(file: TaskFile) -> Prompt:
    keys = file.keys.prompt
    if keys is None:
        return plain_prompt
    if keys.function is not None:
        function = _plugin(partial(plugins.load, "mmeval.prompts"), keys.function, ("prompt", "function"))
        _check_options(function, keys.options, ("prompt",))
        return FunctionPrompt(keys.function, function, keys.options)
    from mmeval.template import TemplatePrompt, check_template  # most tasks have none, and Jinja is slow to import

    fields = tuple(file.keys.prompt_fields)
    for role, source in (("system", keys.system), ("user", keys.user)):
        try:
            check_template(source or "", fields)
        except PromptError as error:
            path = ("prompt", role) if ("prompt", role) in file.document.places else ("prompt",)
            raise _FaultsError((path, str(error))) from None
    return TemplatePrompt(user=keys.user or "", system=keys.system or "", fields=fields)


@dataclass(frozen=True)
class FixedKinds:
    """``output_modalities`` as a list: the same for every sample."""

    kinds: tuple[PartKind, ...]

    def __call__(self, sample: Sample) -> tuple[PartKind, ...]:  # noqa: ARG002  # the contract of Task.wanted
        return self.kinds


_WANTED_KINDS = tuple(kind for kind in PART_KINDS if kind != "reasoning")


@dataclass(frozen=True)
class SampleKinds:
    """``output_modalities: per_sample``: what the sample's metadata name under ``output_modalities``."""

    task: str

    def __call__(self, sample: Sample) -> tuple[PartKind, ...]:
        kinds = sample.metadata.get("output_modalities")
        if not isinstance(kinds, list | tuple) or not kinds or not all(kind in _WANTED_KINDS for kind in kinds):
            raise UsageError(
                f"task {self.task!r}, sample {sample.id!r}: output_modalities is per_sample, so the sample's metadata "
                f"must name kinds of part under output_modalities, not {kinds!r}{self._instead(sample)}"
            )
        return tuple(kinds)

    def _instead(self, sample: Sample) -> str:
        absent = "output_modalities" not in sample.metadata
        return written_instead("output_modalities", sample.metadata) if absent else ""


def _wanted(file: TaskFile) -> Callable[[Sample], tuple[PartKind, ...]]:
    kinds = file.keys.output_modalities
    if kinds == [PER_SAMPLE]:
        return SampleKinds(file.name)
    return FixedKinds(cast("tuple[PartKind, ...]", tuple(kinds)))


def _repeats(file: TaskFile, overrides: TaskOverrides) -> int:
    repeats = overrides.repeats or file.keys.repeats
    if repeats > MAX_REPEATS:
        raise UsageError(f"--repeats {repeats}: a sample is answered {MAX_REPEATS:,} times at most")
    return repeats


def _params(file: TaskFile, overrides: TaskOverrides) -> GenerationParams:
    return GenerationParams.from_mapping(_over(file.keys.generation_kwargs, overrides.gen_kwargs))


def _over(base: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Merged so that what is given also comes later: of two names for one parameter the last one counts."""
    return {**{name: value for name, value in base.items() if name not in given}, **given}


def _positions(file: TaskFile, overrides: TaskOverrides) -> list[int]:
    return [i for i, entry in enumerate(file.keys.metric_list) if entry.metric not in overrides.skip_metric]


def _metric(file: TaskFile, position: int, overrides: TaskOverrides, roles: frozenset[str]) -> TaskMetric:
    keys, path = file.keys.metric_list[position], ("metric_list", position)
    metric = _plugin(load_metric, keys.metric, (*path, "metric"))
    if keys.higher_is_better is not None:
        metric = replace(metric, higher_is_better=keys.higher_is_better)
    where = (*path, "aggregation")
    aggregator = _plugin(load_aggregator, keys.aggregation.name, _name_path(file, where))
    _check_options(aggregator, keys.aggregation.options, where)
    _check_values(aggregator, keys.aggregation.options, where)
    return TaskMetric(
        bound=_bound(file, metric, keys, path, overrides),
        aggregation=keys.aggregation.name,
        options=keys.aggregation.options,
        unavailable=metric.unavailable(roles, task=word_for(file) if metric.weights else file.name),
    )


def _check_outputs(file: TaskFile, overrides: TaskOverrides) -> None:
    """Faults for a number that two entries give: one would overwrite the other. Unknown metrics are told elsewhere."""
    seen: set[str] = set()
    for position in _positions(file, overrides):
        name = file.keys.metric_list[position].metric
        try:
            outputs = load_metric(name).outputs
        except UnknownNameError:
            continue
        twice = sorted(seen.intersection(outputs))
        if twice:
            message = f"{' and '.join(twice)} is given by an earlier entry already; list a metric once"
            raise _FaultsError((("metric_list", position, "metric"), message))
        seen.update(outputs)


def _bound(file: TaskFile, metric: Metric, keys: MetricKeys, path: KeyPath, overrides: TaskOverrides) -> BoundMetric:
    profile = overrides.profile or file.keys.profile
    home = file.beside("metric_list")
    faults = [((*path, name), fault) for name in keys.switches if (fault := _switch_fault(metric, keys, name, home))]
    if faults:
        raise _FaultsError(*faults)
    given = {**metric.placed(keys.switches, home), **overrides.metric_args.get(keys.metric, {})}
    folder = overrides.judge_prompts
    texts = PromptTexts(
        given={} if folder is None else read_prompt_folder(folder),
        recorded=file.prompts.get(keys.metric, {}),
        origins={} if folder is None else prompt_files(folder),
    )
    try:
        return metric.bind(metric.consented(given, trust=overrides.trust_remote_code), profile, texts)
    except PromptError as error:
        switch = next((name for name in metric.prompts if name in keys.switches), "metric")
        raise _FaultsError(((*path, switch), str(error))) from None


def _switch_fault(metric: Metric, keys: MetricKeys, name: str, home: Path) -> str:
    if name not in metric.switches:
        return f"unknown key{did_you_mean(name, ['metric', 'aggregation', 'higher_is_better', *metric.switches])}"
    if name == TRUST:
        return f"a task file cannot allow code to run; who runs the task gives --{TRUST}"
    return metric.switch_fault(name, keys.switches[name]) or _path_fault(metric, keys.switches[name], name, home)


def _path_fault(metric: Metric, value: Any, name: str, home: Path) -> str:
    """Why a switch of a task file in the folder ``home`` cannot be this path; empty when it can, or is none."""
    if not metric.takes_path(name, value):
        return ""
    try:
        path_inside(home, value)
    except UsageError:
        return (
            f"{value[:200]!r} leads out of the task file's folder; put the file there, or let who runs the task give "
            "it with --judge_prompts or --metric_args"
        )
    return ""


def _config(file: TaskFile, overrides: TaskOverrides, metrics: Sequence[TaskMetric]) -> dict[str, Any]:
    """The resolved file as plain JSON, the overrides and the words of its prompts in it; nothing in it depends on the
    machine."""
    config = {key: value for key, value in file.document.data.items() if key not in ("include", *ABOUT_DATA)}
    changed: dict[str, Any] = {
        "generation_kwargs": _over(file.keys.generation_kwargs, overrides.gen_kwargs) if overrides.gen_kwargs else None,
        "repeats": overrides.repeats,
        "profile": overrides.profile,
        "data": overrides.data,
        "system_instruction": overrides.system_instruction,
        "protocol": "" if overrides.protocol == file.keys.protocol.name else overrides.protocol,
    }
    config.update({key: value for key, value in changed.items() if value})
    if file.keys.metric_list:
        entries = [
            {**entry, **overrides.metric_args.get(entry["metric"], {})} for entry in file.document.data["metric_list"]
        ]
        kept = _positions(file, overrides)
        config["metric_list"] = [
            {**entries[i], **_written_prompts(entries[i], metric.bound)}
            for i, metric in zip(kept, metrics, strict=True)
        ]
        if len(kept) < len(entries):  # so that mmeval score can add them later, with their switches
            config["skipped_metrics"] = [entry for i, entry in enumerate(entries) if i not in kept]
    if file.keys.dataset_path:
        config["dataset_path"] = portable(file.keys.dataset_path)
    if named := {metric.bound.name: words for metric in metrics if (words := _named_prompts(metric.bound))}:
        config["judge_prompts"] = named
    return config


def _written_prompts(entry: Mapping[str, Any], bound: BoundMetric) -> dict[str, Any]:
    """The prompts of an entry that are files or stand in it, with their words."""
    given = {switch: entry.get(switch) for switch in bound.prompts}
    return {
        switch: bound.prompts[switch]
        for switch, written in given.items()
        if isinstance(written, Mapping) or (isinstance(written, str) and is_prompt_path(written))
    }


def _named_prompts(bound: BoundMetric) -> dict[str, str]:
    """The words behind the names of a metric's prompts, as they are now."""
    return {prompt["name"]: prompt["text"] for prompt in bound.prompts.values()}
