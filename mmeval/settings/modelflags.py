"""Who is asked: ``--model`` with its arguments, and the flags that are short for some of them."""

from __future__ import annotations

from collections.abc import Mapping

from mmeval.backend.create import takes_argument
from mmeval.errors import UsageError
from mmeval.run.options import BackendSpec
from mmeval.settings.resolve import Setting


def model_spec(settings: Mapping[str, Setting]) -> BackendSpec:
    """The model's backend. ``--device`` says what its argument ``device`` does, and ``--trust_remote_code`` goes to it
    where it takes that.

    Raises UsageError for a device that the backend has no use for, or that is given twice.
    """
    name, args = settings["model"].value, dict(settings["model_args"].value)
    device, trust = settings["device"], settings["trust_remote_code"].value
    if device.value:
        if not takes_argument(name, "device"):
            raise UsageError(
                f"{device.origin} has no effect here: the backend {name!r} runs no model on a device of this machine"
            )
        if "device" in args:
            raise UsageError(
                f"{device.origin} and device of {settings['model_args'].origin} say the same; leave one out"
            )
        args["device"] = device.value
    if trust and takes_argument(name, "trust_remote_code"):
        args.setdefault("trust_remote_code", True)
    return BackendSpec(name, args)
