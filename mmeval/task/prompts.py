"""The prompt of a task: that of its file, or one in other words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from mmeval import plugins
from mmeval.program.prompt import (
    FunctionPrompt,
    Prompt,
    PromptError,
    plain_prompt,
)
from mmeval.program.prompt_file import PromptFile, PromptTexts, find_prompt
from mmeval.system.yaml_document import KeyPath
from mmeval.task.file import TaskFile
from mmeval.task.key_faults import (
    KeyFaultsError,
    check_options,
    check_values,
    plugin_at,
)
from mmeval.task.released.chosen import chosen_prompts
from mmeval.task.schema import PromptKeys
from mmeval.task.task import TaskOverrides


class TaskPrompt(NamedTuple):
    """The prompt of a task.

    ``record`` is ``{name, sha256, text}`` if the prompt replaces that of the task's
    file, and empty otherwise.
    """

    prompt: Prompt
    record: Mapping[str, Any]


def task_prompt(file: TaskFile, overrides: TaskOverrides) -> TaskPrompt:
    """Returns the prompt of a task.

    A prompt file with the name of the task replaces the prompt of the task's file.
    Raises KeyFaultsError for a prompt that cannot be used.
    """
    given = _given_prompt(file, overrides)
    if given is None:
        return TaskPrompt(_own_prompt(file), {})
    # imported here, since most tasks have no template and Jinja is slow to import
    from mmeval.program.template import TemplatePrompt

    fields = tuple(file.keys.prompt_fields)
    try:
        given.check(("input", "id", *fields), form=False)
    except PromptError as error:
        raise KeyFaultsError((("prompt",), str(error))) from None
    sources = given.sources
    prompt = TemplatePrompt(
        sources["user"],
        sources.get("system", ""),
        fields,
        place=given.origin or given.name,
    )
    return TaskPrompt(prompt, given.to_json())


def _given_prompt(file: TaskFile, overrides: TaskOverrides) -> PromptFile | None:
    """Returns the prompt in the place of the file's prompt, or None without one."""
    if file.is_recorded:
        # answers of a run are scored in the words in which they were asked for
        return PromptFile.of(file.task_prompt) if file.task_prompt else None
    # --judge_prompts is not for the model
    prompts = chosen_prompts(file, replace(overrides, judge_prompts=None))
    if file.name not in prompts:
        return None
    return find_prompt(file.name, file.folder, PromptTexts(prompts))


def _own_prompt(file: TaskFile) -> Prompt:
    keys = file.keys.prompt
    if keys is None:
        return plain_prompt
    if keys.function is None:
        return _template_prompt(file, keys)
    function = plugin_at(
        partial(plugins.load, "mmeval.prompts"),
        keys.function,
        ("prompt", "function"),
    )
    check_options(function, keys.options, ("prompt",))
    check_values(function, keys.options, ("prompt",))
    return FunctionPrompt(keys.function, function, keys.options)


def _template_prompt(file: TaskFile, keys: PromptKeys) -> Prompt:
    from mmeval.program.template import TemplatePrompt, check_template

    fields = tuple(file.keys.prompt_fields)
    for role, source in (("system", keys.system), ("user", keys.user)):
        try:
            check_template(source or "", fields)
        except PromptError as error:
            path: KeyPath = ("prompt", role)
            if path not in file.document.places:
                path = ("prompt",)
            raise KeyFaultsError((path, str(error))) from None
    place = file.document.place(("prompt",))
    return TemplatePrompt(
        keys.user or "",
        keys.system or "",
        fields,
        place=f"{place.file}:{place.line}",
    )
