"""Build a runnable task from its file, its plugins and the overrides."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, cast

from mmeval import plugins
from mmeval.dataset.contract import Loader
from mmeval.errors import UnknownNameError, UsageError, did_you_mean
from mmeval.media.media import path_inside
from mmeval.media.parts import Interleaved, PartKind
from mmeval.metric.profiles import PROFILES
from mmeval.program.calls import Program
from mmeval.program.prompt import (
    FunctionPrompt,
    InstructedPrompt,
    Prompt,
    PromptError,
    plain_prompt,
)
from mmeval.program.prompt_file import (
    PromptTexts,
    bound_prompts,
    is_prompt_path,
    prompt_kinds,
    read_prompt_folder,
)
from mmeval.program.protocols import Ask
from mmeval.records.request import GenerationParams
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
from mmeval.task.schema import ABOUT_DATA, MAX_REPEATS, PER_SAMPLE
from mmeval.task.task import (
    UNSTATED,
    Expected,
    FixedKinds,
    SampleKinds,
    Task,
    TaskMetric,
    TaskOverrides,
)


def build(
    file: TaskFile,
    overrides: TaskOverrides | None = None,
    *,
    roles: frozenset[str] = frozenset(),
) -> Task:
    """Build the task of a file. Data are read or fetched later, by ``Task.dataset()``.
    ``roles`` are the roles that the run has besides the model. Raises one TaskFileError
    with every plugin, option and switch that does not exist or work, each with its
    line."""
    given = overrides or TaskOverrides()
    if given.profile not in ("", *PROFILES):
        raise UnknownNameError(
            "profile",
            given.profile,
            PROFILES,
            f"--profile takes {' or '.join(PROFILES)}.",
        )
    faults = list(_faults(file, given, roles))
    if faults:
        raise file.document.errors(faults)
    keys = file.keys
    repeats = given.repeats or keys.repeats
    if repeats > MAX_REPEATS:
        raise UsageError(
            f"--repeats {repeats}: a sample is answered {MAX_REPEATS:,} times at most",
            name="--repeats",
        )
    data = task_data(file, given, _loader(file))
    prompt = _prompt(file)
    kinds = cast("tuple[PartKind, ...]", tuple(keys.output_modalities))
    metrics = metrics_of(file, given, roles)
    protocol = _protocol(file, given)
    return Task(
        name=file.name,
        alias=keys.task_alias or file.name,
        version=file.version,
        file=file.document.file,
        config=_config(file, given, metrics, protocol),
        dataset=data,
        source=data.record,
        prompt=InstructedPrompt(given.system_instruction, prompt)
        if given.system_instruction
        else prompt,
        protocol=protocol,
        protocol_name=given.protocol or keys.protocol.name,
        protocol_prompts=_protocol_prompts(protocol),
        wanted=SampleKinds(file.name)
        if keys.output_modalities == [PER_SAMPLE]
        else FixedKinds(kinds),
        params=GenerationParams.from_mapping(
            _over(keys.generation_kwargs, given.gen_kwargs)
        ),
        given_options=frozenset(
            GenerationParams.from_mapping(given.gen_kwargs).options
        ),
        metrics=metrics,
        numbers=combined_numbers(file, metrics),
        repeats=repeats,
        partial_output=keys.partial_output,
        blocks=keys.blocks,
        missing_output=keys.missing_output,
        refusals=given.refusals or "scored",
        cluster_key=keys.cluster_key,
        breakdown=tuple(keys.breakdown),
        filter=keys.filter,
        metadata=keys.metadata,
        roles={
            role: GenerationParams.from_mapping(params)
            for role, params in keys.roles.items()
        },
        input_modalities=cast("tuple[PartKind, ...]", tuple(keys.input_modalities)),
        video_frames=keys.fewer_inputs.video_frames,
        first_picture=keys.fewer_inputs.first_picture,
        layout=keys.layout,
        expected=UNSTATED
        if given.data == "bundled"
        else Expected(keys.expected.rows, keys.expected.samples),
        uses_reference=isinstance(prompt, FunctionPrompt) and prompt.uses_reference,
        comparable=given.data != "bundled"
        and all(metric.bound.comparable for metric in metrics),
    )


def check_prompt_names(tasks: Sequence[Task], overrides: TaskOverrides) -> None:
    """Raises UsageError for a ``--judge_prompts`` file that replaces no prompt."""
    if overrides.judge_prompts is None:
        return
    used = {
        prompt["name"]
        for task in tasks
        for metric in task.metrics
        for prompt in metric.bound.prompts.values()
    }
    used |= {
        prompt["name"] for task in tasks for prompt in task.protocol_prompts.values()
    }
    unused = sorted(read_prompt_folder(overrides.judge_prompts).keys() - used)
    if unused:
        raise UsageError(
            f"--judge_prompts {overrides.judge_prompts}: {unused[0]!r} is not a "
            "prompt of the chosen tasks"
            f"{did_you_mean(unused[0], used)} (they use "
            f"{', '.join(sorted(used)) or 'none'})"
        )


def check_metric_names(known: Collection[str], overrides: TaskOverrides) -> None:
    """Raises UnknownNameError for a metric of the command line that no task has."""
    for flag, names in (
        ("--metric_args", overrides.metric_args),
        ("--skip_metric", overrides.skip_metric),
    ):
        for name in names:
            if name not in known:
                hint = (
                    f"{flag} takes a metric of the chosen tasks: "
                    f"{', '.join(sorted(known)) or 'they have none'}."
                )
                raise UnknownNameError("metric", name, known, hint)


def _faults(
    file: TaskFile, overrides: TaskOverrides, roles: frozenset[str]
) -> Iterator[tuple[KeyPath, str]]:
    """Every plugin, option and switch that does not exist. Plugins are cached."""
    steps: list[Callable[[], object]] = [
        partial(_loader, file),
        partial(_protocol, file, overrides),
        partial(_prompt, file),
        partial(answer_filters, file, overrides),
        *(
            partial(metric_at, file, position, overrides, roles)
            for position in positions_of(file, overrides)
        ),
        partial(check_outputs, file, overrides),
        partial(_layout, file),
        lambda: combined_numbers(file, metrics_of(file, overrides, roles)),
    ]
    found: list[tuple[KeyPath, str]] = []
    for step in steps:
        try:
            step()
        except (
            KeyFaultsError
        ) as error:  # metrics_of repeats the faults of single metrics
            found += (problem for problem in error.problems if problem not in found)
    yield from found


def _loader(file: TaskFile) -> Loader:
    found: Loader = plugin_at(
        partial(plugins.load, "mmeval.loaders"), file.keys.loader, ("loader",)
    )
    return found


def _protocol(
    file: TaskFile, overrides: TaskOverrides
) -> partial[Program[Interleaved]]:
    """The protocol with its options, of which prompts are ``{name, sha256, text}``."""
    named = file.keys.protocol
    options: dict[str, Any] = {}
    if overrides.protocol not in ("", named.name):  # else the options of the file apply
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
    written = inspect.signature(function).parameters.items()
    values = {
        name: one.default for name, one in written if one.default is not one.empty
    } | options
    kinds = prompt_kinds(function, values)
    folder, home = overrides.judge_prompts, file.beside("protocol")
    try:
        for name in kinds:
            if isinstance(values[name], str) and is_prompt_path(values[name]):
                values[name] = str(path_inside(home, values[name]))
        texts = PromptTexts(
            {} if folder is None or not kinds else read_prompt_folder(folder)
        )
        return partial(
            function, **options | bound_prompts(function, kinds, values, texts)
        )
    except UsageError as error:
        raise KeyFaultsError((("protocol",), str(error))) from None


def _protocol_prompts(
    protocol: partial[Program[Interleaved]],
) -> dict[str, Mapping[str, str]]:
    """The options of a protocol that are prompts."""
    return {
        name: protocol.keywords[name]
        for name in prompt_kinds(protocol.func, protocol.keywords)
    }


def _protocol_of_run(name: str) -> Callable[[Ask], Program[Interleaved]]:
    """The protocol that the command line names. Raises UnknownNameError for a name that
    is not registered, UsageError for a protocol with required options."""
    if name not in (known := plugins.names("mmeval.protocols")):
        raise UnknownNameError(
            "protocol", name, known, f"--protocol takes {', '.join(known)}."
        )
    function = plugins.load("mmeval.protocols", name)
    try:
        check_options(function, {}, ())
    except KeyFaultsError as error:
        raise UsageError(
            f"--protocol {name}: {error}; name it in a task file, which can give its "
            "options"
        ) from None
    return cast("Callable[[Ask], Program[Interleaved]]", function)


def _prompt(file: TaskFile) -> Prompt:
    keys = file.keys.prompt
    if keys is None:
        return plain_prompt
    if keys.function is not None:
        function = plugin_at(
            partial(plugins.load, "mmeval.prompts"),
            keys.function,
            ("prompt", "function"),
        )
        check_options(function, keys.options, ("prompt",))
        check_values(function, keys.options, ("prompt",))
        return FunctionPrompt(keys.function, function, keys.options)
    # most tasks have none, and Jinja is slow to import
    from mmeval.program.template import (
        TemplatePrompt,
        check_template,
    )

    fields = tuple(file.keys.prompt_fields)
    for role, source in (("system", keys.system), ("user", keys.user)):
        try:
            check_template(source or "", fields)
        except PromptError as error:
            path = (
                ("prompt", role)
                if ("prompt", role) in file.document.places
                else ("prompt",)
            )
            raise KeyFaultsError((path, str(error))) from None
    at = file.document.place(("prompt",))
    return TemplatePrompt(
        keys.user or "", keys.system or "", fields, place=f"{at.file}:{at.line}"
    )


def _over(base: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Merge, given values last: of two names for a parameter the last one counts."""
    return {
        **{name: value for name, value in base.items() if name not in given},
        **given,
    }


def _layout(file: TaskFile) -> None:
    if file.keys.layout:
        plugin_at(
            partial(plugins.load, "mmeval.layouts"), file.keys.layout, ("layout",)
        )


def _config(
    file: TaskFile,
    overrides: TaskOverrides,
    metrics: Sequence[TaskMetric],
    protocol: partial[Program[Interleaved]],
) -> dict[str, Any]:
    """The resolved file as JSON, with overrides and texts of prompts, without paths."""
    config = {
        key: value
        for key, value in file.document.data.items()
        if key not in ("include", *ABOUT_DATA)
    }
    changed: dict[str, Any] = {
        "generation_kwargs": _over(file.keys.generation_kwargs, overrides.gen_kwargs)
        if overrides.gen_kwargs
        else None,
        "repeats": overrides.repeats,
        "profile": overrides.profile,
        "data": overrides.data,
        "system_instruction": overrides.system_instruction,
        "refusals": "" if overrides.refusals == "scored" else overrides.refusals,
        "protocol": ""
        if overrides.protocol == file.keys.protocol.name
        else overrides.protocol,
    }
    config.update({key: value for key, value in changed.items() if value})
    if _protocol_prompts(protocol):
        config["protocol"] = {
            "name": overrides.protocol or file.keys.protocol.name,
            **protocol.keywords,
        }
    config.update(written_metrics(file, overrides, metrics))
    if file.keys.dataset_path:
        config["dataset_path"] = portable(file.keys.dataset_path)
    return config
