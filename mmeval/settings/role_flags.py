"""Backends of the model and of other roles, from their flags or a recorded run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmeval import plugins
from mmeval.backend.create import takes_argument
from mmeval.errors import UnknownNameError, UsageError
from mmeval.run.options import BackendSpec
from mmeval.settings import values
from mmeval.settings.resolve import Setting


def model_spec(settings: Mapping[str, Setting]) -> BackendSpec:
    """The model's backend; ``--device`` is its argument ``device``.
    ``--trust_remote_code`` goes to a backend that takes it. Raises UsageError for a
    device that the backend does not take, or that is given twice."""
    name = settings["model"].value
    args = dict(settings["model_args"].value)
    device = settings["device"]
    if device.value:
        if not takes_argument(name, "device"):
            message = (
                f"{device.origin} has no effect here: the backend {name!r} runs no "
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
    return BackendSpec(name, args)


def role_specs(settings: Mapping[str, Setting]) -> dict[str, BackendSpec]:
    """The backend of each role; ``--judge`` is short for ``--role judge=``. So is
    ``--captioner``. Raises UsageError for a role that is given twice, and for arguments
    of a judge that is not named."""
    found = {
        name: BackendSpec(backend, args)
        for name, (backend, args) in settings["role"].value.items()
    }
    for role in ("judge", "captioner"):
        given = settings[role]
        if given.value is None:
            continue
        if role in found:
            raise UsageError(
                f"{given.origin} and {settings['role'].origin} {role}= are the same; "
                "leave one out"
            )
        name, args = given.value
        found[role] = BackendSpec(name, args)
        known = plugins.names("mmeval.model_backends")
        if name.rpartition("/")[2] not in known:
            hint = (
                f"A model of a server is written as {given.origin} openai,model={name}."
            )
            raise UnknownNameError("backend", name, known, hint)
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
                f"{origin or address.origin} needs a judge: give --judge BACKEND, or "
                "write the arguments into --role judge=..."
            )
        judge = found["judge"]
        twice = sorted(judge.args.keys() & extra.keys())
        if twice:
            raise UsageError(f"{twice[0]} of the judge is given twice; leave one out")
        found["judge"] = BackendSpec(judge.name, {**judge.args, **extra})
    return found


def recorded_roles(settings: Mapping[str, Any]) -> dict[str, BackendSpec]:
    """The backend of each role by a run's recorded settings, where secrets are
    hidden."""
    found = values.roles(settings.get("role", {}))
    for role in ("judge", "captioner"):
        if role in settings:
            found[role] = values.backend(settings[role])
    if "judge" in found:
        name, args = found["judge"]
        args = {**args, **settings.get("judge_args", {})}
        if "judge_base_url" in settings:
            args["base_url"] = settings["judge_base_url"]
        found["judge"] = (name, args)
    return {role: BackendSpec(*spec) for role, spec in found.items()}


def with_roles(
    settings: Mapping[str, Any],
    given: Mapping[str, Any],
) -> dict[str, Any]:
    """Recorded settings, overridden by given ones; of a role the backend as a whole."""
    shown = dict(settings)
    roles = dict(settings.get("role", {}))
    replaced = [*recorded_roles(given)]
    if "judge" in replaced:
        replaced += ["judge_args", "judge_base_url"]
    for name in replaced:
        shown.pop(name, None)
        roles.pop(name, None)
    shown |= given
    roles |= given.get("role", {})
    if roles:
        shown["role"] = roles
    else:
        shown.pop("role", None)
    return shown
