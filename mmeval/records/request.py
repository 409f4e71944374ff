"""Requests to a backend: messages, parameters and wanted kinds."""

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
    """How to generate. None leaves a value to the model's own default.

    ``options`` are parameters of one output modality under a dotted name, such as
    ``image.size`` or ``audio.voice``; a backend refuses the options that it does not
    know.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    left_out: frozenset[str] = field(default=frozenset(), compare=False)
    """Names whose value is ``none``: others that these are laid over lose theirs."""

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> GenerationParams:
        """From ``generation_kwargs`` with users' names (``max_gen_toks``, ``until``,
        ...). The value ``none`` leaves a parameter out, also one that an earlier name
        or ``do_sample`` gives.

        Raises UnknownNameError for an unknown name, UsageError for a value of the wrong
        type or outside its range.
        """
        known: dict[str, Any] = {}
        options: dict[str, Any] = {}
        left_out: set[str] = set()
        for name, value in values.items():
            target = _GENERATION_ALIASES.get(name, name)
            if target in _PARAMETERS and value in (None, "none"):
                known.pop(target, None)
                left_out.add(target)
            elif target.startswith(_OPTION_PREFIXES):
                options[target] = value
            elif target in _PARAMETERS:
                left_out.discard(target)
                known[target] = _typed_parameter(target, value)
            elif target != "do_sample":
                names = [*_PARAMETERS, *_GENERATION_ALIASES, "do_sample"]
                raise UnknownNameError("generation parameter", name, names)
        if not values.get("do_sample", True) and "temperature" not in left_out:
            known["temperature"] = 0.0  # whatever temperature stands beside it
        return cls(**known, options=options, left_out=frozenset(left_out))

    def overlaid(self, other: GenerationParams) -> GenerationParams:
        """These, with what another has set in place of their own."""
        changed: dict[str, Any] = dict.fromkeys(other.left_out)
        if "stop" in changed:
            changed["stop"] = ()
        for name, value in other.to_json().items():
            if name != "options":
                changed[name] = value
        return replace(self, **changed, options={**self.options, **other.options})

    def options_of(self, kind: PartKind) -> dict[str, Any]:
        """The options of one modality, without its prefix."""
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
    wanted = "a number"
    if name == "stop":
        wanted = "words"
    elif name in ("max_tokens", "top_k"):
        wanted = "a whole number"
    raise UsageError(f"generation parameter {name}={value!r}: must be {wanted}")


def _within(
    name: str,
    value: Any,
    number: float,
) -> float:
    """The number. Raises UsageError outside of the parameter's range."""
    holds, wanted = {
        "max_tokens": (number >= 1, "at least 1"),
        "temperature": (number >= 0, "at least 0"),
        "top_p": (0 < number <= 1, "above 0 and at most 1"),
    }.get(name, (True, ""))
    if not holds:
        raise UsageError(f"generation parameter {name}={value!r}: must be {wanted}")
    return number


@dataclass(frozen=True)
class Request:
    """One question to a backend; ``wants`` are the kinds of part to answer with.

    ``seed`` and ``key`` are set by the broker. ``digest`` covers messages, parameters,
    wanted kinds and the media's bytes, nothing else: not the seed, not a file name, not
    the task. ``key`` names the call among those of all runs, so that a server can tell
    one that is sent again; empty for none.
    """

    messages: tuple[Message, ...]
    params: GenerationParams = GenerationParams()
    wants: tuple[PartKind, ...] = ("text",)
    seed: int = 0
    key: str = ""

    _digest: str = field(default="", init=False, compare=False, repr=False)
    """The digest, once it was asked for: it may have to read media."""

    @property
    def digest(self) -> str:
        if not self._digest:
            how = _how_digest(self.params, self.wants)
            contents = [(m.role, m.content) for m in self.messages]
            object.__setattr__(self, "_digest", content_digest(how, contents))
        return self._digest

    def with_seed(self, seed: int, key: str = "") -> Request:
        """The request with another seed, which is not part of its digest."""
        request = Request(self.messages, self.params, self.wants, seed, key)
        return request._under(self.digest)

    def with_messages(self, messages: tuple[Message, ...]) -> Request:
        """The request with media in other forms, under the digest of the media
        themselves."""
        request = Request(messages, self.params, self.wants, self.seed, self.key)
        return request._under(self.digest)

    def without_options(self, names: Collection[str]) -> Request:
        """The request without some parameters of one modality, under the same
        digest."""
        if not names:
            return self
        options = dict(self.params.options)
        for name in names:
            options.pop(name, None)
        params = replace(self.params, options=options)
        request = Request(self.messages, params, self.wants, self.seed, self.key)
        return request._under(self.digest)

    def replied(self) -> Request:
        """The request to send once a reply has come, under another key: by this one the
        server may repeat it."""
        return self.with_seed(self.seed, digest(self.key)) if self.key else self

    def _under(self, known: str) -> Request:
        """This new request under the digest of the one that it was made of."""
        object.__setattr__(self, "_digest", known)
        return self

    def kinds(self) -> set[PartKind]:
        """The kinds of part that a backend must be able to read to answer."""
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


_MOST_HOWS = 64
_hows: dict[tuple[Any, ...], tuple[GenerationParams, bytes]] = {}
"""By the identity of the parameters, which are held with them so that no others get it,
and the kinds."""


def _how_digest(params: GenerationParams, wants: tuple[PartKind, ...]) -> bytes:
    """Parameters and wanted kinds as bytes; some are kept, as the calls of a run repeat
    them."""
    known = _hows.get((id(params), *wants))
    if known is None:
        if len(_hows) >= _MOST_HOWS:
            _hows.clear()
        known = _hows[id(params), *wants] = (
            params,
            canonical_json([params.to_json(), wants]),
        )
    return known[1]
