"""Requests to a backend: messages, parameters and requested kinds of part."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mmeval.errors import UnknownNameError, UsageError
from mmeval.media.parts import PartKind
from mmeval.records.digests import canonical_json, content_digest, digest
from mmeval.records.sample import Message

_GENERATION_ALIASES: Mapping[str, str] = {
    "max_gen_toks": "max_tokens",
    "max_new_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "until": "stop",
    "stop_sequences": "stop",
}
_PARAMETERS = ("max_tokens", "temperature", "top_p", "top_k", "stop")
_OPTION_PREFIXES = ("image.", "audio.", "video.", "document.", "3d.", "code.", "text.")


@dataclass(frozen=True, slots=True)
class GenerationParams:
    """The parameters of generation. If one is None, the model uses its default.

    ``options`` are parameters of one output modality under a dotted name, such as
    ``image.size`` or ``audio.voice``. A backend rejects options that it does not know.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    left_out: frozenset[str] = field(default=frozenset(), compare=False)
    """The names of parameters that are set to ``none``. ``overlaid`` removes their
    values."""

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> GenerationParams:
        """Returns parameters from ``generation_kwargs``.

        Names may be aliases (``max_gen_toks``, ``until``, ...). The value ``none``
        removes a parameter, even if an earlier alias or ``do_sample`` has set it.

        Raises UnknownNameError for an unknown name, and UsageError for a value of the
        wrong type or outside the range.
        """
        parameters: dict[str, Any] = {}
        options: dict[str, Any] = {}
        left_out: set[str] = set()
        for name, value in values.items():
            target = _GENERATION_ALIASES.get(name, name)
            if target in _PARAMETERS and value in (None, "none"):
                parameters.pop(target, None)
                left_out.add(target)
            elif target.startswith(_OPTION_PREFIXES):
                options[target] = value
            elif target in _PARAMETERS:
                left_out.discard(target)
                parameters[target] = _typed_parameter(target, value)
            elif target != "do_sample":
                names = [*_PARAMETERS, *_GENERATION_ALIASES, "do_sample"]
                raise UnknownNameError("generation parameter", name, names)
        if not values.get("do_sample", True) and "temperature" not in left_out:
            # do_sample=False overrides a temperature.
            parameters["temperature"] = 0.0
        return cls(**parameters, options=options, left_out=frozenset(left_out))

    def overlaid(self, other: GenerationParams) -> GenerationParams:
        """Returns these parameters, overridden by those that ``other`` sets."""
        changed: dict[str, Any] = dict.fromkeys(other.left_out)
        if "stop" in changed:
            changed["stop"] = ()
        for name, value in other.to_json().items():
            if name != "options":
                changed[name] = value
        return replace(
            self,
            **changed,
            options={**self.options, **other.options},
            left_out=self.left_out | other.left_out,
        )

    def options_of(self, kind: PartKind) -> dict[str, Any]:
        """Returns the options of one modality, without the prefix of their names."""
        prefix = f"{kind}."
        return {
            name[len(prefix) :]: value
            for name, value in self.options.items()
            if name.startswith(prefix)
        }

    def to_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {}
        for name in (*_PARAMETERS, "options"):
            value = getattr(self, name)
            if value not in (None, (), {}):
                row[name] = value
        return row


def _typed_parameter(name: str, value: Any) -> Any:
    try:
        if name == "stop":
            return (value,) if isinstance(value, str) else tuple(map(str, value))
        number = float(value)
        if name not in ("max_tokens", "top_k") and math.isfinite(number):
            return _within(name, value, number)
        if name in ("max_tokens", "top_k") and number == int(number):
            return _within(name, value, int(number))
    except (TypeError, ValueError, OverflowError):
        pass
    expected = "a number"
    if name == "stop":
        expected = "a string or a list of strings"
    elif name in ("max_tokens", "top_k"):
        expected = "a whole number"
    raise UsageError(f"generation parameter {name}={value!r}: must be {expected}")


def _within(
    name: str,
    value: Any,
    number: float,
) -> float:
    """Returns the number. Raises UsageError if it is outside the parameter's range."""
    is_valid, expected = {
        "max_tokens": (number >= 1, "at least 1"),
        "temperature": (number >= 0, "at least 0"),
        "top_p": (0 < number <= 1, "above 0 and at most 1"),
    }.get(name, (True, ""))
    if not is_valid:
        raise UsageError(f"generation parameter {name}={value!r}: must be {expected}")
    return number


@dataclass(frozen=True, slots=True)
class ReplySchema:
    """The JSON schema of a reply, and the request field in which a server expects it.

    ``form`` is one of :data:`mmeval.backend.probe.ReplyFormat`. JSON mode
    (``json_object``) sends no schema.
    """

    schema: Mapping[str, Any]
    form: str


@dataclass(frozen=True)
class Request:
    """One request to a backend.

    ``wants`` are the requested kinds of part. ``digest`` covers the messages,
    parameters, requested kinds and media bytes. The digest does not cover the seed,
    file names or the task. The broker sets ``seed`` and ``key``. ``key`` identifies the
    call among the calls of all runs, so that a server recognises a retry. It may be
    empty.

    ``reply_schema`` is not part of the digest: it only enforces the form of the reply
    that the messages ask for.
    """

    messages: tuple[Message, ...]
    params: GenerationParams = GenerationParams()
    wants: tuple[PartKind, ...] = ("text",)
    seed: int = 0
    key: str = ""
    reply_schema: ReplySchema | None = field(default=None, compare=False)

    _digest: str = field(default="", init=False, compare=False, repr=False)
    """The digest is cached, because computing it may read media."""

    @property
    def digest(self) -> str:
        if not self._digest:
            head = _params_json(self.params, self.wants)
            contents = [(m.role, m.content) for m in self.messages]
            object.__setattr__(self, "_digest", content_digest(head, contents))
        return self._digest

    def with_seed(self, seed: int, key: str = "") -> Request:
        """Returns the request with another seed, which is not part of the digest."""
        return self._changed(seed=seed, key=key)

    def with_messages(self, messages: tuple[Message, ...]) -> Request:
        """Returns the request with converted media, under the original digest."""
        return self._changed(messages=messages)

    def with_schema(self, reply_schema: ReplySchema) -> Request:
        """Returns the request with a schema for its reply, under the same digest."""
        return self._changed(reply_schema=reply_schema)

    def without_options(self, names: Collection[str]) -> Request:
        """Returns the request without some options of modalities.

        The digest remains that of the original request.
        """
        if not names:
            return self
        options = dict(self.params.options)
        for name in names:
            options.pop(name, None)
        return self._changed(params=replace(self.params, options=options))

    def replied(self) -> Request:
        """Returns the same request with another key, to send it again after a reply.

        With the old key, the server may send the same reply again.
        """
        return self.with_seed(self.seed, digest(self.key)) if self.key else self

    def _changed(self, **changes: Any) -> Request:
        """Returns a copy with some other fields, under the digest of this request."""
        fields = {**vars(self), **changes, "_digest": self.digest}
        request = object.__new__(type(self))
        # every call makes such a copy, and ``replace`` would inspect each field
        vars(request).update(fields)
        return request

    def kinds(self) -> set[PartKind]:
        """Returns the kinds of part that a backend must be able to read."""
        kinds: set[PartKind] = set()
        for message in self.messages:
            for part in message.content.parts:
                if not part.dangling:
                    kinds.add(part.kind)
        return kinds

    def to_json(self) -> dict[str, Any]:
        return {
            "messages": [m.to_json() for m in self.messages],
            "params": self.params.to_json(),
            "wants": list(self.wants),
            "seed": self.seed,
        }


_MOST_CACHED = 64
_cache: dict[tuple[Any, ...], tuple[GenerationParams, bytes]] = {}
"""JSON of parameters, by the id of the parameters and the requested kinds.

Each entry keeps a reference to its parameters. Otherwise another object could get the
same id.
"""


def _params_json(params: GenerationParams, wants: tuple[PartKind, ...]) -> bytes:
    """Returns parameters and requested kinds as canonical JSON.

    The result is cached, because the calls of a run repeat the same parameters.
    """
    cached = _cache.get((id(params), *wants))
    if cached is None:
        if len(_cache) >= _MOST_CACHED:
            _cache.clear()
        cached = _cache[id(params), *wants] = (
            params,
            canonical_json([params.to_json(), wants]),
        )
    return cached[1]
