"""Forms of a judge's reply: its fields, and how each is asked for and read."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from mmeval.errors import UsageError
from mmeval.metric.judge.json_reply import ReplyError, read_object
from mmeval.records.response import Response

NOT_SURE = "not sure"
"""A judge's reply instead of a value, where the form allows it."""
MAX_TEXT_CHARS = 2000
"""Characters of a judge's own words that are kept as evidence."""
_OUT_OF = re.compile(r"/|(?<=\s)out of(?=\s)", re.IGNORECASE)
Vote: TypeAlias = Mapping[str, Any]
"""The values of one reply, by field; None: the judge is not sure. Optional fields may
be missing."""


class Field(Protocol):
    """A field of a reply; ``optional`` may be absent, ``unsure`` may be ``not
    sure``."""

    @property
    def name(self) -> str: ...
    @property
    def unsure(self) -> bool: ...
    @property
    def optional(self) -> bool: ...
    def asked(self) -> str:
        """The words of the prompt for the value."""

    def read(self, value: Any) -> Any:
        """The typed value. Raises ReplyError with what was wanted; the reply itself is
        quoted beside it."""


@dataclass(frozen=True)
class Number:
    """A number in ``low`` .. ``high``, or its text, which may name the highest one
    (``4/5``, ``4 out of 5``); whole unless ``whole`` is false."""

    name: str
    low: float
    high: float
    whole: bool = True
    unsure: bool = False
    optional: bool = False

    def asked(self) -> str:
        kind = "whole number" if self.whole else "number"
        return f"a {kind} from {self.low:g} to {self.high:g}"

    def read(self, value: Any) -> float:
        number = value
        is_short = isinstance(value, str) and len(value) < 40
        if is_short and value.strip()[-1:].isdigit():
            written, *highest = _OUT_OF.split(value, maxsplit=1)
            with contextlib.suppress(ValueError):
                # with another highest number than that of the form its scale is unclear
                if not highest or float(highest[0]) == self.high:
                    number = float(written)
        if (
            isinstance(number, bool)
            or not isinstance(number, int | float)
            or not self.low <= number <= self.high
        ):
            raise ReplyError(f"is not {self.asked()}")
        if self.whole and number != int(number):
            raise ReplyError(f"is not {self.asked()}")
        return int(number) if self.whole else float(number)


@dataclass(frozen=True)
class Choice:
    """One of some words, as the form spells it; case, blanks, last stop do not
    matter."""

    name: str
    options: tuple[str, ...]
    unsure: bool = False
    optional: bool = False

    def __post_init__(self) -> None:
        plain = [_plain(option) for option in self.options]
        taken = {"", NOT_SURE} if self.unsure else {""}
        if len(set(plain) - taken) < len(plain):
            raise UsageError(
                f"the options {list(self.options)!r:.200} are not distinguishable in a "
                "reply; give each its own words"
            )

    def asked(self) -> str:
        return "one of " + ", ".join(f'"{option}"' for option in self.options)

    def read(self, value: Any) -> str:
        written = _plain(value) if isinstance(value, str) else None
        for option in self.options:
            if _plain(option) == written:
                return option
        raise ReplyError(f"is not {self.asked()}")


@dataclass(frozen=True)
class YesNo:
    """Yes or no; ``true`` and ``false``, also as texts, are the same. The value is a
    bool."""

    name: str
    unsure: bool = False
    optional: bool = False

    def asked(self) -> str:
        return '"yes" or "no"'

    def read(self, value: Any) -> bool:
        if isinstance(value, bool):
            return value
        word = _plain(value) if isinstance(value, str) else ""
        if word not in ("yes", "no", "true", "false"):
            raise ReplyError(f"is not {self.asked()}")
        return word in ("yes", "true")


@dataclass(frozen=True)
class Text:
    """The judge's own words, cut after ``MAX_TEXT_CHARS``: evidence, never a
    decision."""

    name: str
    asked_for: str = "one or two sentences"
    optional: bool = True
    unsure: bool = False

    def asked(self) -> str:
        return self.asked_for

    def read(self, value: Any) -> str:
        if not isinstance(value, str):
            raise ReplyError("is not a text")
        return value[:MAX_TEXT_CHARS]


def _plain(text: str) -> str:
    words = text.replace("_", " ").replace("-", " ").casefold().split()
    return " ".join(words).rstrip(".")


@dataclass(frozen=True)
class ReplyForm:
    """The reply that a judge is asked for: an object with these fields, in this order.
    ``example`` is one that leads to the most further questions, where some replies lead
    to more."""

    fields: tuple[Field, ...]
    example: str = field(default="", kw_only=True)

    @property
    def reads_refusals(self) -> bool:
        """Whether the words of a refused reply are read as those of any other.

        Released scripts do not know that a reply was refused.
        """
        return False

    @property
    def asked(self) -> str:
        """The words of the prompt for the reply: ``form`` in a prompt file."""
        wanted = []
        for one in self.fields:
            unsure = f', or "{NOT_SURE}"' if one.unsure else ""
            wanted.append(f'"{one.name}": <{one.asked()}{unsure}>')
        return "{" + ", ".join(wanted) + "}"

    def read(self, text: str) -> Vote:
        """The values of a reply. Raises ReplyError when it does not fit: no guesses."""
        wanted = [field.name for field in self.fields if not field.optional]
        optional = [field.name for field in self.fields if field.optional]
        found = read_object(text, wanted, optional=optional)
        values: dict[str, Any] = {}
        for one in self.fields:
            if one.name not in found:
                continue
            value = found[one.name]
            if one.unsure and isinstance(value, str) and _plain(value) == NOT_SURE:
                values[one.name] = None
                continue
            try:
                values[one.name] = one.read(value)
            except ReplyError as error:
                raise ReplyError(f"{one.name} {error}") from None
        return values

    def read_reply(self, response: Response) -> Vote:
        """The values of a response with an answer. Raises ReplyError as ``read`` does,
        and for what the judge refused."""
        if response.is_refused and not self.reads_refusals:
            raise ReplyError("the judge refused")
        return self.read(response.text)

    def fault(self, response: Response) -> str:
        """For ``Call.accept``: what is wrong with a reply; empty when it fits."""
        try:
            self.read_reply(response)
        except ReplyError as error:
            return str(error)
        return ""
