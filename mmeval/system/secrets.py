"""Hides keys, tokens and passwords in output and files.

The name of a value decides whether it is secret. A secret value is hidden wherever it
appears.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

_NOT_IN_VOCABULARY = "".join(
    rf"(?<!(?<![A-Za-z]){word}[_-])"
    for word in ("bos", "eos", "pad", "stop", "special", "image", "mask")
)
"""Excludes names such as ``bos_token``, which is a token of the model's vocabulary and
not a secret."""
_NAMES = (
    rf"(?:api)?keys?|{_NOT_IN_VOCABULARY}token|secret|password|passwd"
    "|credentials?|authorization"
)
_SECRET = re.compile(rf"(^|[_-])({_NAMES})$", re.IGNORECASE)

_SCHEMES = r"(?:Bearer|Basic|Token)\s+"
"""The scheme before the key in an ``Authorization`` header."""
_SCHEME = re.compile(rf"^{_SCHEMES}", re.IGNORECASE)
_WRITTEN_SECRET = re.compile(
    rf"""((?:^|[^A-Za-z0-9])(?:{_NAMES})"?\s*[=:]\s*"?(?:{_SCHEMES})?)[^\s,;"'}}]+""",
    re.IGNORECASE,
)

HIDDEN = "***"
"""What replaces a key."""
COMMAND = "command"
"""The argument of backends that start a program.

The words of the command may also contain keys.
"""
MIN_CHARS = 8
"""Shorter values are hidden only next to their names.

They are not hidden elsewhere, because they also occur in other words.
"""
_LEAST_CHARS = 4
"""Shorter values are not hidden, not even in their own command."""
_LONG_CHARS = 16
"""A plain word of this length or more is a secret, not a word of an answer."""
_ASSIGNMENT = re.compile(r"(?P<name>[^\s=:]+)(?:=|:\s*)(?P<value>.+)", re.DOTALL)
_PATH = re.compile(r".*/.*|.+\.[A-Za-z]\w{0,9}", re.DOTALL)
_BASE64 = re.compile(r"(?=.*\d)(?=.*[A-Z])[A-Za-z0-9+/]{16,}=*")
"""A key may also contain ``/``, such as an AWS key."""
_PLAIN_WORD = re.compile(r"[A-Za-z_-]+")
_NOT_OF_A_KEY = re.compile(r"[\s<>|]")


def without_secrets(values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the mapping with keys, tokens and passwords hidden, at any depth.

    Values are hidden by name, in the words of a command, and wherever else they appear.
    """
    by_name: dict[str, Any] = {}
    for name, value in values.items():
        by_name[name] = _by_name(str(name), value)
    hidden: dict[str, Any] = without_values(by_name, secret_values(values))
    return hidden


def secret_values(values: Mapping[str, Any]) -> frozenset[str]:
    """Returns the values that are secret by name, at any depth.

    In a command the option before the value is its name (``--api-key V``,
    ``--api-key=V``, ``API_KEY=V``, ``API-Key: V``). Values that may be words of an
    answer are left out: values shorter than ``MIN_CHARS``, and plain words such as the
    ``placeholder`` of an ``api_key``.
    """
    secrets: set[str] = set()
    for name, value in _secrets_in(values):
        if len(value) < MIN_CHARS or _NOT_OF_A_KEY.search(value):
            continue
        is_path = _PATH.fullmatch(value) and not _BASE64.fullmatch(value)
        if name.startswith("-") and is_path:
            continue  # the option may be a switch, and the word after it a file
        if len(value) >= _LONG_CHARS or not _PLAIN_WORD.fullmatch(value):
            secrets.add(value)
    return frozenset(secrets)


def hidden_names(values: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yields the names of values that :func:`without_secrets` hides; nested names as
    ``a.b``."""
    for name, value in values.items():
        words = _words(value) if name == COMMAND else ()
        if isinstance(value, Mapping):
            yield from hidden_names(value, f"{path}{name}.")
        elif _is_hidden(value) or any(HIDDEN in word for word in words):
            yield f"{path}{name}"


def _is_hidden(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(hidden_names(value))
    if isinstance(value, list | tuple):
        return any(_is_hidden(item) for item in value)
    return bool(value == HIDDEN)


def text_without_secrets(text: str, values: Collection[str] = ()) -> str:
    """Returns a command line with keys, tokens and passwords hidden.

    The function hides the values next to a secret name, and the texts in ``values``
    wherever they appear.
    """
    return text_without_values(_WRITTEN_SECRET.sub(rf"\1{HIDDEN}", text), values)


def text_without_values(text: str, values: Collection[str]) -> str:
    """Returns the text with all secret values hidden."""
    # the longest first, as it may contain another
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    return text


def without_values(item: Any, values: Collection[str]) -> Any:
    """Returns a JSON value with secret values hidden in all its texts."""
    if isinstance(item, str):
        return text_without_values(item, values)
    if isinstance(item, Mapping):
        hidden: dict[Any, Any] = {}
        for name, value in item.items():
            hidden[without_values(name, values)] = without_values(value, values)
        return hidden
    if isinstance(item, list | tuple):
        return [without_values(value, values) for value in item]
    return item


def _by_name(name: str, value: Any) -> Any:
    """Returns the value with all secrets hidden by name. Below a secret name, every
    text is hidden."""
    if isinstance(value, str) and value and _SECRET.search(name):
        return HIDDEN
    if name == COMMAND:
        # in a command, plain and short words after a secret option are secret too
        secrets = {secret for _, secret in _secret_words(_words(value))}
        return without_values(
            value, [secret for secret in secrets if len(secret) >= _LEAST_CHARS]
        )
    if isinstance(value, Mapping):
        hidden: dict[Any, Any] = {}
        for inner, item in value.items():
            hidden[inner] = _by_name(_name_below(name, inner), item)
        return hidden
    if isinstance(value, list | tuple):
        return [_by_name(name, item) for item in value]
    return value


def _secrets_in(values: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yields the secret values at any depth, each with its name."""
    if isinstance(values, Mapping):
        for inner, value in values.items():
            yield from _secrets_in(value, _name_below(name, inner))
    elif name == COMMAND:
        yield from _secret_words(_words(values))
    elif isinstance(values, list | tuple):
        for value in values:
            yield from _secrets_in(value, name)
    elif _SECRET.search(name) and isinstance(values, str | int):
        yield name, _without_scheme(str(values))


def _name_below(outer: str, inner: object) -> str:
    """Returns the name that decides whether a nested value is secret.

    The name is ``api_key`` in ``{"api_key": {"value": V}}``.
    """
    return outer if _SECRET.search(outer) else str(inner)


# --- commands -------------------------------------------------------------------------


def _words(command: Any) -> list[str]:
    """Returns the words of a command, by the rules of a shell if it can be parsed."""
    if isinstance(command, list | tuple):
        return [str(word) for word in command]
    if not isinstance(command, str):
        return []
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _secret_words(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields the secrets of a command, each with its option or variable.

    A word may be a command itself (``sh -c``).
    """
    before = ""
    for word in words:
        is_option = before.startswith("-") and _SECRET.search(before)
        assigned = _ASSIGNMENT.fullmatch(word)  # or a header ``NAME: VALUE``
        if assigned is not None and _SECRET.search(assigned["name"]):
            yield assigned["name"], _without_scheme(assigned["value"])
        elif is_option and not word.startswith("-"):
            yield before, _without_scheme(word)
        elif " " in word:
            yield from _secret_words(_words(word))
        before = word


def _without_scheme(value: str) -> str:
    return _SCHEME.sub("", value)
