"""Builds a task that can be run from its file, its plugins and overrides."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, cast

from mmeval import plugins
from mmeval.dataset.contract import Loader
from mmeval.errors import UnknownNameError, UsageError, did_you_mean
from mmeval.findings.finding import Finding, Subject
from mmeval.media.media import path_inside
from mmeval.media.parts import Interleaved, PartKind
from mmeval.metric.profiles import PROFILES
from mmeval.program.calls import Program
from mmeval.program.prompt import FunctionPrompt, InstructedPrompt
from mmeval.program.prompt_file import (
    PromptTexts,
    bound_prompts,
    is_prompt_path,
    prompt_kinds,
    read_prompt_folder,
)
from mmeval.program.protocols import Ask
from mmeval.records.request import GenerationParams
from mmeval.system.wording import listed
from mmeval.system.yaml_document import KeyPath
from mmeval.task.combined_numbers import combined_numbers
from mmeval.task.data import portable, task_data
from mmeval.task.file import TaskFile
from mmeval.task.key_faults import (
    KeyFaultsError,
    check_options,
    check_values,
    name_path,
    plugin_at,
)
from mmeval.task.metric_list import (
    answer_filters,
    check_outputs,
    metric_at,
    metrics_of,
    positions_of,
    written_metrics,
)
from mmeval.task.prompts import task_prompt
from mmeval.task.released.chosen import OWN, RELEASED, chosen_prompts, prompt_folder
from mmeval.task.schema import ABOUT_DATA, MAX_REPEATS, PER_SAMPLE
from mmeval.task.task import (
    UNSTATED,
    ExpectedSize,
    FixedKinds,
    SampleKinds,
    Task,
    TaskMetric,
    TaskOverrides,
)

_MOST_NAMED = 5


def build(
    file: TaskFile,
    overrides: TaskOverrides | None = None,
    *,
    roles: frozenset[str] = frozenset(),
) -> Task:
    """Builds the task of a file. ``Task.dataset()`` finds or downloads the data later.

    ``roles`` are the roles of the run without the model. Raises a TaskFileError that
    lists all unusable plugins, options and switches with their lines.
    """
    changes = overrides or TaskOverrides()
    if changes.profile not in ("", *PROFILES):
        raise UnknownNameError(
            "profile",
            changes.profile,
            PROFILES,
            f"--profile must be {' or '.join(PROFILES)}.",
        )
    faults = _faults(file, changes, roles)
    if faults:
        raise file.document.errors(faults)
    keys = file.keys
    repeats = changes.repeats or keys.repeats
    if repeats > MAX_REPEATS:
        raise UsageError(
            f"--repeats {repeats}: the maximum is {MAX_REPEATS:,}",
            name="--repeats",
        )
    data = task_data(file, changes, _loader(file))
    own_prompt, prompt_record = task_prompt(file, changes)
    prompt = own_prompt
    if changes.system_instruction:
        prompt = InstructedPrompt(changes.system_instruction, own_prompt)
    output_kinds: SampleKinds | FixedKinds = SampleKinds(file.name)
    if keys.output_modalities != [PER_SAMPLE]:
        output_kinds = FixedKinds(
            cast("tuple[PartKind, ...]", tuple(keys.output_modalities))
        )
    options = _over(keys.generation_kwargs, changes.gen_kwargs)
    given_options = GenerationParams.from_mapping(changes.gen_kwargs).options
    roles_params: dict[str, GenerationParams] = {}
    for role, params in keys.roles.items():
        roles_params[role] = GenerationParams.from_mapping(params)
    is_bundled = changes.data == "bundled"
    expected = ExpectedSize(keys.expected.rows, keys.expected.samples)
    metrics = metrics_of(file, changes, roles)
    is_comparable = all(metric.bound.comparable for metric in metrics)
    protocol = _protocol(file, changes)
    return Task(
        name=file.name,
        alias=keys.task_alias or file.name,
        version=file.version,
        file=file.document.file,
        config=_config(file, changes, metrics, protocol, prompt_record),
        dataset=data,
        source=data.record,
        prompt=prompt,
        protocol=protocol,
        protocol_name=changes.protocol or keys.protocol.name,
        protocol_prompts=_protocol_prompts(protocol),
        prompt_record=prompt_record,
        output_kinds=output_kinds,
        params=GenerationParams.from_mapping(options),
        given_options=frozenset(given_options),
        metrics=metrics,
        numbers=combined_numbers(file, metrics),
        repeats=repeats,
        partial_output=keys.partial_output,
        blocks=keys.blocks,
        missing_output=keys.missing_output,
        refusals=changes.refusals or "scored",
        cluster_key=keys.cluster_key,
        breakdown=tuple(keys.breakdown),
        filter=keys.filter,
        metadata=keys.metadata,
        roles=roles_params,
        input_modalities=cast("tuple[PartKind, ...]", tuple(keys.input_modalities)),
        video_frames=keys.fewer_inputs.video_frames,
        first_picture=keys.fewer_inputs.first_picture,
        layout=keys.layout,
        expected=UNSTATED if is_bundled else expected,
        uses_reference=(
            isinstance(own_prompt, FunctionPrompt) and own_prompt.uses_reference
        ),
        comparable=is_comparable and not is_bundled,
    )


def prompt_findings(tasks: Sequence[Task], overrides: TaskOverrides) -> list[Finding]:
    """Returns a finding that names the files of ``--prompts`` that a run does not use.

    They may be for other tasks. Raises UsageError for a ``--judge_prompts`` file that
    replaces no prompt, and if ``--prompts`` replaces no prompt at all.
    """
    judged: dict[str, Mapping[str, str]] = {}
    for task in tasks:
        for prompt in task.prompts:
            judged[prompt["name"]] = prompt
    if overrides.judge_prompts is not None:
        unused = sorted(read_prompt_folder(overrides.judge_prompts).keys() - judged)
        if unused:
            near = did_you_mean(unused[0], judged)
            names = ", ".join(sorted(judged)) or "none"
            raise UsageError(
                f"--judge_prompts {overrides.judge_prompts}: {unused[0]!r} is not a "
                f"prompt of the chosen tasks{near} (they use {names})"
            )
    words = overrides.prompts
    if words in OWN:
        return []
    # a prompt file with the name of a task replaces the task's own prompt
    used = {*judged, *(task.name for task in tasks), *overrides.agent_prompts}
    names = ", ".join(sorted(used))
    if words == RELEASED:
        has_released = any("released" in prompt for prompt in judged.values())
        if not (has_released or overrides.agent_prompts or overrides.judge_prompts):
            raise UsageError(
                "--prompts released: mmeval cannot ask a prompt of the chosen tasks in "
                f"the authors' words (they use {names})"
            )
        return []
    files = prompt_folder(words)
    if not used & files.keys():
        raise UsageError(
            f"--prompts {words}: no file is a prompt of the chosen tasks (they use "
            f"{names})"
        )
    unused = sorted(files.keys() - used)
    if not unused:
        return []
    cause = f"files that this run does not use: {listed(unused, _MOST_NAMED)}"
    return [Finding("setting", Subject(name=f"--prompts {words}"), cause=cause)]


def check_metric_names(metric_names: Collection[str], overrides: TaskOverrides) -> None:
    """Raises UnknownNameError if no task has a metric that the command line names."""
    flagged = [("--metric_args", name) for name in overrides.metric_args]
    flagged += [("--skip_metric", name) for name in overrides.skip_metric]
    for flag, name in flagged:
        if name not in metric_names:
            names = ", ".join(sorted(metric_names)) or "they have none"
            hint = f"{flag} must name a metric of the chosen tasks: {names}."
            raise UnknownNameError("metric", name, metric_names, hint)


def _faults(
    file: TaskFile, overrides: TaskOverrides, roles: frozenset[str]
) -> list[tuple[KeyPath, str]]:
    """Returns the faults of all plugins, options and switches.

    Loaded plugins are cached.
    """
    steps: list[Callable[[], object]] = [
        partial(_loader, file),
        partial(_protocol, file, overrides),
        partial(task_prompt, file, overrides),
        partial(answer_filters, file, overrides),
    ]
    for position in positions_of(file, overrides):
        steps.append(partial(metric_at, file, position, overrides, roles))
    steps.append(partial(check_outputs, file, overrides))
    layout = file.keys.layout
    if layout:
        # imported late, since few tasks name a layout
        from mmeval.task.layout_file import layout_file

        steps.append(partial(plugin_at, layout_file, layout, ("layout",)))
    steps.append(lambda: combined_numbers(file, metrics_of(file, overrides, roles)))
    faults: dict[tuple[KeyPath, str], None] = {}
    for step in steps:
        try:
            step()
        # a dict removes duplicates: metrics_of repeats the faults of single metrics
        except KeyFaultsError as error:
            faults.update(dict.fromkeys(error.problems))
    return list(faults)


def _loader(file: TaskFile) -> Loader:
    loader: Loader = plugin_at(
        partial(plugins.load, "mmeval.loaders"), file.keys.loader, ("loader",)
    )
    return loader


def _protocol(
    file: TaskFile, overrides: TaskOverrides
) -> partial[Program[Interleaved]]:
    """Returns the protocol with its options.

    Options that are prompts become mappings ``{name, sha256, text}``.
    """
    named = file.keys.protocol
    options: dict[str, Any] = {}
    # the options in the file belong to the protocol that the file names
    if overrides.protocol not in ("", named.name):
        function = _protocol_of_run(overrides.protocol)
    else:
        function = plugin_at(
            partial(plugins.load, "mmeval.protocols"),
            named.name,
            name_path(file, ("protocol",)),
        )
        options = named.options
        check_options(function, options, ("protocol",))
        check_values(function, options, ("protocol",))
    values: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.default is not parameter.empty:
            values[name] = parameter.default
    values |= options
    kinds = prompt_kinds(function, values)
    home = file.beside("protocol")
    try:
        for name in kinds:
            if isinstance(values[name], str) and is_prompt_path(values[name]):
                values[name] = str(path_inside(home, values[name]))
        texts = PromptTexts()
        if kinds and not file.is_recorded:
            texts = PromptTexts(chosen_prompts(file, overrides))
        prompts = bound_prompts(function, kinds, values, texts)
        return partial(function, **options | prompts)
    except UsageError as error:
        raise KeyFaultsError((("protocol",), str(error))) from None


def _protocol_prompts(
    protocol: partial[Program[Interleaved]],
) -> dict[str, Mapping[str, str]]:
    """Returns the options of a protocol that are prompts."""
    return {
        name: protocol.keywords[name]
        for name in prompt_kinds(protocol.func, protocol.keywords)
    }


def _protocol_of_run(name: str) -> Callable[[Ask], Program[Interleaved]]:
    """Returns the protocol that the command line names.

    Raises UnknownNameError for an unknown name, UsageError for a protocol with required
    options.
    """
    protocols = plugins.names("mmeval.protocols")
    if name not in protocols:
        hint = f"--protocol must be one of {', '.join(protocols)}."
        raise UnknownNameError("protocol", name, protocols, hint)
    function = plugins.load("mmeval.protocols", name)
    try:
        check_options(function, {}, ())
    except KeyFaultsError as error:
        raise UsageError(
            f"--protocol {name}: {error}; set it in a task file, with its options"
        ) from None
    return cast("Callable[[Ask], Program[Interleaved]]", function)


def _over(
    base: Mapping[str, Any],
    overrides: Mapping[str, Any],
) -> dict[str, Any]:
    """Merges two mappings, with the overrides after all other items.

    The order matters: if a parameter has two names, the last one in the mapping wins.
    """
    base_values = {name: value for name, value in base.items() if name not in overrides}
    return base_values | dict(overrides)


def _config(
    file: TaskFile,
    overrides: TaskOverrides,
    metrics: Sequence[TaskMetric],
    protocol: partial[Program[Interleaved]],
    prompt_record: Mapping[str, Any],
) -> dict[str, Any]:
    """Returns the resolved file as JSON, with overrides and prompts, without paths."""
    config = dict(file.document.data)
    for key in ("include", *ABOUT_DATA):
        config.pop(key, None)
    keys = file.keys
    if overrides.gen_kwargs:
        config["generation_kwargs"] = _over(
            keys.generation_kwargs, overrides.gen_kwargs
        )
    for key in ("repeats", "profile", "data", "system_instruction"):
        if getattr(overrides, key):
            config[key] = getattr(overrides, key)
    if overrides.refusals not in ("", "scored"):
        config["refusals"] = overrides.refusals
    if overrides.protocol not in ("", keys.protocol.name):
        config["protocol"] = overrides.protocol
    if _protocol_prompts(protocol):
        name = overrides.protocol or keys.protocol.name
        config["protocol"] = {"name": name, **protocol.keywords}
    if prompt_record:
        config["task_prompt"] = dict(prompt_record)
    config.update(written_metrics(file, overrides, metrics))
    if file.keys.dataset_path:
        config["dataset_path"] = portable(file.keys.dataset_path)
    return config
