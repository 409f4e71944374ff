"""Makes a backend from its name and arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from mmeval import plugins
from mmeval.backend.contract import AnyBackend
from mmeval.errors import (
    MmevalError,
    PluginError,
    UnknownNameError,
    UsageError,
    did_you_mean,
)
from mmeval.system.arguments import as_meant, fault_of, hint_of

_FOREIGN = frozenset(
    (
        "async_openai",
        "local_chat_completions",
        "local_completions",
        "openai_chat",
        "openai_chat_completions",
        "openai_compatible",
        "openai_completions",
    )
)
"""Names in other harnesses for a server with the OpenAI interface."""
_FOREIGN_LOCAL = frozenset(
    ("hf_auto", "hf_multimodal", "hf_causal", "huggingface", "transformers")
)
"""Names in other harnesses for a model of the Hugging Face hub that runs on this
machine."""
_FLAGS_INSTEAD = {
    "batch_size": "It is a flag of its own: --batch_size N",
    "max_batch_size": "The largest batch is a flag of its own: --batch_size N",
}
"""Arguments of backends in other harnesses, with the flags for them here."""
_SAME = {
    "pretrained": "model",
    "model_name": "model",
    "model": "pretrained",
    "model_path": "pretrained",
    "path": "pretrained",
}
"""Names for the same argument in other backends and harnesses."""
_TEXT = (str, "str", str | None, "str | None")


def create_backend(name: str, args: Mapping[str, Any]) -> AnyBackend:
    """A backend by its plugin name and arguments.

    Raises UnknownNameError for the name or an argument, UsageError for arguments that
    are missing, or of another type than the backend declares; PluginError for what is
    no backend.
    """
    check_backend_name(name)
    factory = plugins.load("mmeval.model_backends", name)
    signature = inspect.signature(factory)
    hints = factory.__init__ if inspect.isclass(factory) else inspect.unwrap(factory)
    known, takes_any = _arguments(factory)
    for arg in args:
        if arg in known or takes_any:
            continue
        near: list[str] = []
        if arg in _FLAGS_INSTEAD:
            hint = _FLAGS_INSTEAD[arg]
        elif _SAME.get(arg) in known:
            hint = f"Write {_SAME[arg]}={args[arg]}"
        else:
            near = known
            hint = (
                f"It takes: {', '.join(known)}." if known else "It takes no arguments."
            )
        raise UnknownNameError(f"{name} argument", arg, near, hint)
    given = {}
    for arg, value in args.items():
        parameter = signature.parameters.get(arg)
        if parameter is not None and parameter.annotation in _TEXT:
            given[arg] = _text(name, arg, value)
        else:
            given[arg] = as_meant(value, hint_of(hints, arg))
    for arg, value in given.items():
        if fault := fault_of(value, hint_of(hints, arg)):
            raise UsageError(f"the backend {name!r}: {arg} {fault}", name=arg)
    try:
        signature.bind(**given)
    except TypeError as error:
        raise UsageError(
            f"the backend {name!r}: {error}; give it with --model_args NAME=VALUE, to "
            "a judge or another role as "
            f"{name},NAME=VALUE",
            name=name,
        ) from None
    backend: AnyBackend = factory(**given)
    check_members(name, backend)
    return backend


def check_members(name: str, backend: AnyBackend) -> None:
    """Raises PluginError for what lacks a member that every backend has, or has one
    that cannot be used."""
    for member in ("capabilities", "identity", "close"):
        # a wrapper lists not all that it passes on
        if member not in dir(backend) and not hasattr(backend, member):
            raise PluginError(
                f"the backend {name!r} lacks {member}; mmeval init backend NAME "
                "writes one that has it"
            )
    close = inspect.getattr_static(type(backend), "close", None)
    if inspect.isfunction(close) and not inspect.iscoroutinefunction(close):
        raise PluginError(
            f"the backend {name!r}: close must be a coroutine; write 'async def "
            "close(self)'"
        )


def takes_argument(name: str, arg: str) -> bool:
    """Whether a backend takes an argument; True where the backend cannot be loaded."""
    try:
        known, takes_any = _arguments(plugins.load("mmeval.model_backends", name))
    except MmevalError:
        return True
    return takes_any or arg in known


def _arguments(factory: Callable[..., object]) -> tuple[list[str], bool]:
    """The names of a backend's arguments, and whether it takes others too."""
    parameters = inspect.signature(factory).parameters.values()
    known = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD]
    return known, len(known) < len(parameters)


def check_backend_name(name: str) -> None:
    """Raises UnknownNameError for a backend that is not there, such as the name of a
    model."""
    names = plugins.names("mmeval.model_backends")
    elsewhere = name.replace("-", "_")
    # without any, what is said of the tasks tells how to install
    if not names or name.rpartition("/")[2] in names:
        return
    if elsewhere in _FOREIGN:
        hint = (
            "A server that speaks the OpenAI interface: --model openai --model_args "
            "base_url=URL,model=NAME"
        )
    elif elsewhere in _FOREIGN_LOCAL:
        hint = (
            "A model that is run on this machine: --model hf --model_args "
            "pretrained=NAME"
        )
    elif did_you_mean(name, names):
        raise UnknownNameError(
            "model backend", name, names, "'mmeval ls backends' lists them"
        )
    else:
        hint = (
            f"The name of a model is an argument: model={name} of openai, "
            f"pretrained={name} of hf"
        )
    raise UnknownNameError("model backend", name, (), hint)


def _text(
    backend: str,
    arg: str,
    value: Any,
) -> Any:
    """The value of a parameter that is text: ``revision=1234567`` is that text. Raises
    UsageError for a fraction or a power of ten, whose spelling does not follow from its
    value."""
    if isinstance(value, float):
        raise UsageError(
            f"the backend {backend!r}: {arg} is a text and was read as the number "
            f"{value}; write it in quotes, as in "
            f"{arg}='1e5'",
            name=arg,
        )
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number else value
