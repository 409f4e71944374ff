"""Creates a backend from its name and arguments."""

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
"""Names that other harnesses use for a server with the OpenAI interface."""
_FOREIGN_LOCAL = frozenset(
    ("hf_auto", "hf_multimodal", "hf_causal", "huggingface", "transformers")
)
"""Names that other harnesses use for a model from the Hugging Face hub that runs on
this machine."""
_FLAGS_INSTEAD = {
    "batch_size": "Use the flag --batch_size N instead",
    "max_batch_size": "Use the flag --batch_size N for the largest batch",
}
"""Backend arguments of other harnesses for which mmeval has flags."""
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
    """Creates a backend from its plugin name and arguments.

    Raises UnknownNameError for an unknown name or argument. Raises UsageError for a
    missing argument or an argument of the wrong type. Raises PluginError for an object
    that is not a backend.
    """
    check_backend_name(name)
    factory = plugins.load("mmeval.model_backends", name)
    signature = inspect.signature(factory)
    hints = factory.__init__ if inspect.isclass(factory) else inspect.unwrap(factory)
    arg_names, takes_any = _arguments(factory)
    for arg in args:
        if arg in arg_names or takes_any:
            continue
        near: list[str] = []
        if arg in _FLAGS_INSTEAD:
            hint = _FLAGS_INSTEAD[arg]
        elif _SAME.get(arg) in arg_names:
            hint = f"Write {_SAME[arg]}={args[arg]}"
        else:
            near = arg_names
            hint = (
                f"It takes: {', '.join(arg_names)}."
                if arg_names
                else "It takes no arguments."
            )
        raise UnknownNameError(f"{name} argument", arg, near, hint)
    values = {}
    for arg, value in args.items():
        parameter = signature.parameters.get(arg)
        if parameter is not None and parameter.annotation in _TEXT:
            values[arg] = _text(name, arg, value)
        else:
            values[arg] = as_meant(value, hint_of(hints, arg))
    for arg, value in values.items():
        if fault := fault_of(value, hint_of(hints, arg)):
            raise UsageError(f"the backend {name!r}: {arg} {fault}", name=arg)
    try:
        signature.bind(**values)
    except TypeError as error:
        raise UsageError(
            f"the backend {name!r}: {error}; set it with --model_args NAME=VALUE, or "
            f"with {name},NAME=VALUE for a judge or another role",
            name=name,
        ) from None
    backend: AnyBackend = factory(**values)
    check_members(name, backend)
    return backend


def check_members(name: str, backend: AnyBackend) -> None:
    """Raises PluginError if a member of every backend is missing or unusable."""
    for member in ("capabilities", "identity", "close"):
        # dir() of a wrapper may not list the members of the object that it wraps.
        if member not in dir(backend) and not hasattr(backend, member):
            raise PluginError(
                f"the backend {name!r} lacks the member {member!r}; see the template "
                "that 'mmeval init backend NAME' writes"
            )
    close = inspect.getattr_static(type(backend), "close", None)
    if inspect.isfunction(close) and not inspect.iscoroutinefunction(close):
        raise PluginError(
            f"the backend {name!r}: close must be a coroutine; write 'async def "
            "close(self)'"
        )


def takes_argument(name: str, arg: str) -> bool:
    """Returns True if a backend takes an argument, or if it cannot be loaded."""
    try:
        arg_names, takes_any = _arguments(plugins.load("mmeval.model_backends", name))
    except MmevalError:
        return True
    return takes_any or arg in arg_names


def _arguments(factory: Callable[..., object]) -> tuple[list[str], bool]:
    """Returns a backend's argument names, and whether it takes any other argument."""
    parameters = inspect.signature(factory).parameters.values()
    arg_names = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD]
    return arg_names, len(arg_names) < len(parameters)


def check_backend_name(name: str) -> None:
    """Raises UnknownNameError for an unknown backend, such as the name of a model."""
    names = plugins.names("mmeval.model_backends")
    normalized = name.replace("-", "_")
    # Without any plugin, the message about missing tasks says how to install them.
    if not names or name.rpartition("/")[2] in names:
        return
    if normalized in _FOREIGN:
        hint = (
            "For a server with the OpenAI interface use --model openai --model_args "
            "base_url=URL,model=NAME"
        )
    elif normalized in _FOREIGN_LOCAL:
        hint = "For a model on this machine use --model hf --model_args pretrained=NAME"
    elif did_you_mean(name, names):
        raise UnknownNameError(
            "model backend", name, names, "'mmeval ls backends' lists them"
        )
    else:
        hint = (
            f"If this is the name of a model, use the argument model={name} of the "
            f"backend openai, or pretrained={name} of hf"
        )
    raise UnknownNameError("model backend", name, (), hint)


def _text(
    backend: str,
    arg: str,
    value: Any,
) -> Any:
    """Returns the value of a text parameter. An integer becomes a string.

    Raises UsageError for a float, because the user's spelling of the number is lost.
    """
    if isinstance(value, float):
        raise UsageError(
            f"the backend {backend!r}: {arg} must be a string, but it was read as the "
            f"number {value}; put it in quotes, as in {arg}='1e5'",
            name=arg,
        )
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number else value
