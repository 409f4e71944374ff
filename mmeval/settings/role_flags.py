"""Reads the backends of the model and the other roles from flags or a recorded run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from mmeval import plugins
from mmeval.backend.agent.contract import agent_named
from mmeval.backend.create import takes_argument
from mmeval.errors import UnknownNameError, UsageError
from mmeval.run.options import BackendSpec
from mmeval.settings import values
from mmeval.settings.resolve import Setting
from mmeval.task.released.agents import replaceable_prompts


def model_spec(settings: Mapping[str, Setting]) -> BackendSpec:
    """Returns the model's backend, with ``--device`` as its argument ``device``.

    ``--trust_remote_code`` is passed to a backend that accepts it. Raises UsageError if
    the backend does not accept a device, or if the device is given twice.
    """
    name = settings["model"].value
    args = dict(settings["model_args"].value)
    device = settings["device"]
    if device.value:
        if not takes_argument(name, "device"):
            message = (
                f"{device.origin} has no effect: the backend {name!r} does not run a "
                "model on a device of this machine"
            )
            raise UsageError(message, name=device.origin)
        if "device" in args:
            raise UsageError(
                f"{device.origin} and device of {settings['model_args'].origin} are "
                "the same; leave one out"
            )
        args["device"] = device.value
    is_trusted = settings["trust_remote_code"].value
    if is_trusted and takes_argument(name, "trust_remote_code"):
        args.setdefault("trust_remote_code", True)
    return BackendSpec(name, args, words=_words(settings))


def role_specs(settings: Mapping[str, Setting]) -> dict[str, BackendSpec]:
    """Returns the backend of each role.

    ``--judge`` is short for ``--role judge=``, ``--captioner`` for ``--role
    captioner=``. Raises UsageError for a role that is given twice, and for judge
    arguments without a judge.
    """
    specs = {
        name: BackendSpec(backend, args)
        for name, (backend, args) in settings["role"].value.items()
    }
    for role in ("judge", "captioner"):
        setting = settings[role]
        if setting.value is None:
            continue
        if role in specs:
            raise UsageError(
                f"{setting.origin} and {settings['role'].origin} {role}= are the same; "
                "leave one out"
            )
        name, args = setting.value
        specs[role] = BackendSpec(name, args)
        # users often write the name of a model here
        backends = plugins.names("mmeval.model_backends")
        if name.rpartition("/")[2] not in backends:
            hint = (
                f"For a model on a server, write {setting.origin} openai,model={name}."
            )
            raise UnknownNameError("backend", name, backends, hint)
    origin = settings["judge_args"].origin
    extra = dict(settings["judge_args"].value)
    address = settings["judge_base_url"]
    if address.value:
        if "base_url" in extra:
            raise UsageError(
                f"{address.origin} and base_url of {origin} are the same; leave one out"
            )
        extra["base_url"] = address.value
    if extra:
        if settings["judge"].value is None:
            raise UsageError(
                f"{origin or address.origin} has no effect without a judge; add "
                "--judge BACKEND, or write the arguments into --role judge=..."
            )
        judge = specs["judge"]
        twice = sorted(judge.args.keys() & extra.keys())
        if twice:
            raise UsageError(f"{twice[0]} of the judge is given twice; leave one out")
        specs["judge"] = BackendSpec(judge.name, {**judge.args, **extra})
    words = _words(settings)
    return {role: replace(spec, words=words) for role, spec in specs.items()}


def agent_prompt_names(specs: Iterable[BackendSpec]) -> frozenset[str]:
    """Returns the names of the prompts of agents that ``--prompts`` can replace."""
    names: frozenset[str] = frozenset()
    for spec in specs:
        agent = agent_named(spec.name) if spec.words else None
        if agent is not None:
            names |= replaceable_prompts(agent, spec.words)
    return names


def _words(settings: Mapping[str, Setting]) -> str:
    """Returns the words of ``--prompts``, or an empty string without that flag."""
    return settings["prompts"].value if "prompts" in settings else ""


def recorded_roles(settings: Mapping[str, Any]) -> dict[str, BackendSpec]:
    """Returns the backend of each role in a run's recorded settings.

    Recorded settings contain no secrets.
    """
    specs = values.roles(settings.get("role", {}))
    for role in ("judge", "captioner"):
        if role in settings:
            specs[role] = values.backend(settings[role])
    if "judge" in specs:
        name, args = specs["judge"]
        args = {**args, **settings.get("judge_args", {})}
        if "judge_base_url" in settings:
            args["base_url"] = settings["judge_base_url"]
        specs["judge"] = (name, args)
    words = settings.get("prompts", "")
    return {role: BackendSpec(*spec, words=words) for role, spec in specs.items()}


def with_roles(
    settings: Mapping[str, Any],
    overrides: Mapping[str, Any],
) -> dict[str, Any]:
    """Returns recorded settings, with ``overrides`` applied.

    An override of a role replaces its backend together with all arguments.
    """
    merged = dict(settings)
    roles = dict(settings.get("role", {}))
    replaced = [*recorded_roles(overrides)]
    if "judge" in replaced:
        replaced += ["judge_args", "judge_base_url"]
    for name in replaced:
        merged.pop(name, None)
        roles.pop(name, None)
    merged |= overrides
    roles |= overrides.get("role", {})
    if roles:
        merged["role"] = roles
    else:
        merged.pop("role", None)
    return merged
