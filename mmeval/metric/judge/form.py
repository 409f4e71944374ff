"""The form of a judge's reply: its fields, and how they are described and read."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

from mmeval.errors import UsageError
from mmeval.metric.judge.json_reply import ReplyError, read_object
from mmeval.records.response import Response

NOT_SURE = "not sure"
"""The reply of a judge that cannot decide, if the form allows it."""
MAX_TEXT_CHARS = 2000
"""The maximum number of characters of a judge's text in the evidence."""
MAX_LISTED = 20
"""A schema lists all values of a whole number if its bounds differ by at most this."""
_OUT_OF = re.compile(r"/|(?<=\s)out of(?=\s)", re.IGNORECASE)
Vote: TypeAlias = Mapping[str, Any]
"""The values in one reply, by field. None means that the judge is not sure. Optional
fields may be missing."""


class Field(Protocol):
    """A field of a reply.

    An ``optional`` field may be missing in a reply. The value of an ``unsure`` field
    may be ``not sure``.
    """

    @property
    def name(self) -> str: ...
    @property
    def unsure(self) -> bool: ...
    @property
    def optional(self) -> bool: ...
    def asked(self) -> str:
        """Returns the description of the value in the prompt."""

    def read(self, value: Any) -> Any:
        """Returns the typed value. Raises ReplyError with the expected format."""


@runtime_checkable
class SchemaField(Protocol):
    """A field whose value is described by a JSON schema."""

    def schema(self) -> dict[str, Any]:
        """Returns the schema of the value, without ``not sure``."""


def _one_of(texts: Sequence[str]) -> dict[str, Any]:
    # OpenAI refuses a list of values without a type.
    return {"type": "string", "enum": list(texts)}


@dataclass(frozen=True)
class Number:
    """A number from ``low`` to ``high``, by default a whole number.

    A string such as ``4``, ``4/5`` or ``4 out of 5`` is also accepted.
    """

    name: str
    low: float
    high: float
    whole: bool = True
    unsure: bool = False
    optional: bool = False

    def asked(self) -> str:
        kind = "whole number" if self.whole else "number"
        return f"a {kind} from {self.low:g} to {self.high:g}"

    def schema(self) -> dict[str, Any]:
        if self.whole and self.high - self.low <= MAX_LISTED:
            # Servers enforce a list of values, but not all of them enforce bounds.
            values = list(range(math.ceil(self.low), int(self.high) + 1))
            return {"type": "integer", "enum": values}
        kind = "integer" if self.whole else "number"
        return {"type": kind, "minimum": self.low, "maximum": self.high}

    def read(self, value: Any) -> float:
        number = value
        is_short = isinstance(value, str) and len(value) < 40
        if is_short and value.strip()[-1:].isdigit():
            written, *highest = _OUT_OF.split(value, maxsplit=1)
            with contextlib.suppress(ValueError):
                # If the maximum differs from that of the form, the scale is unclear.
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
    """One of several options. Case, spaces and a final full stop do not matter."""

    name: str
    options: tuple[str, ...]
    unsure: bool = False
    optional: bool = False

    def __post_init__(self) -> None:
        plain = [_plain(option) for option in self.options]
        taken = {"", NOT_SURE} if self.unsure else {""}
        if len(set(plain) - taken) < len(plain):
            raise UsageError(
                f"the options {list(self.options)!r:.200} cannot be distinguished in a "
                "reply; use different words"
            )

    def asked(self) -> str:
        return "one of " + ", ".join(f'"{option}"' for option in self.options)

    def schema(self) -> dict[str, Any]:
        return _one_of(self.options)

    def read(self, value: Any) -> str:
        written = _plain(value) if isinstance(value, str) else None
        for option in self.options:
            if _plain(option) == written:
                return option
        raise ReplyError(f"is not {self.asked()}")


@dataclass(frozen=True)
class YesNo:
    """Yes or no, read as a bool. ``true`` and ``false`` are also accepted."""

    name: str
    unsure: bool = False
    optional: bool = False

    def asked(self) -> str:
        return '"yes" or "no"'

    def schema(self) -> dict[str, Any]:
        return _one_of(("yes", "no"))

    def read(self, value: Any) -> bool:
        if isinstance(value, bool):
            return value
        word = _plain(value) if isinstance(value, str) else ""
        if word not in ("yes", "no", "true", "false"):
            raise ReplyError(f"is not {self.asked()}")
        return word in ("yes", "true")


@dataclass(frozen=True)
class Text:
    """Free text, cut after ``MAX_TEXT_CHARS``. It is evidence, never a decision."""

    name: str
    asked_for: str = "one or two sentences"
    optional: bool = True
    unsure: bool = False

    def asked(self) -> str:
        return self.asked_for

    def schema(self) -> dict[str, Any]:
        return {"type": "string"}

    def read(self, value: Any) -> str:
        if not isinstance(value, str):
            raise ReplyError("is not a text")
        return value[:MAX_TEXT_CHARS]


def _plain(text: str) -> str:
    words = text.replace("_", " ").replace("-", " ").casefold().split()
    return " ".join(words).rstrip(".")


@dataclass(frozen=True)
class ReplyForm:
    """The form of a judge's reply: a JSON object with these fields, in this order.

    ``example`` is a reply that leads to the maximum number of further questions.
    """

    fields: tuple[Field, ...]
    example: str = field(default="", kw_only=True)

    @property
    def reads_refusals(self) -> bool:
        """True if a refused reply is read like any other.

        This is so for the forms of released scripts, because the scripts do not detect
        refusals.
        """
        return False

    @property
    def asked(self) -> str:
        """The description of the reply in the prompt: ``form`` in a prompt file."""
        descriptions = []
        for reply_field in self.fields:
            unsure = f', or "{NOT_SURE}"' if reply_field.unsure else ""
            descriptions.append(
                f'"{reply_field.name}": <{reply_field.asked()}{unsure}>'
            )
        return "{" + ", ".join(descriptions) + "}"

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The JSON schema of the reply, with all fields in the order of the form.

        The schema is None for a form with a separate reader, because its replies need
        not be JSON, and for a form with a field that has no schema.
        """
        if type(self).read is not ReplyForm.read:
            return None
        properties: dict[str, Any] = {}
        for reply_field in self.fields:
            if not isinstance(reply_field, SchemaField):
                return None
            value = reply_field.schema()
            if reply_field.unsure:
                value = {"anyOf": [value, _one_of((NOT_SURE,))]}
            properties[reply_field.name] = value
        return {
            "type": "object",
            "properties": properties,
            # Strict servers refuse a schema with optional keys.
            "required": list(properties),
            "additionalProperties": False,
        }

    def read(self, text: str) -> Vote:
        """Returns the values of a reply.

        Raises ReplyError if the reply does not fit the form.
        """
        required = [field.name for field in self.fields if not field.optional]
        optional = [field.name for field in self.fields if field.optional]
        reply = read_object(text, required, optional=optional)
        values: dict[str, Any] = {}
        for reply_field in self.fields:
            name = reply_field.name
            if name not in reply:
                continue
            value = reply[name]
            is_text = isinstance(value, str)
            if reply_field.unsure and is_text and _plain(value) == NOT_SURE:
                values[name] = None
                continue
            try:
                values[name] = reply_field.read(value)
            except ReplyError as error:
                raise ReplyError(f"{name} {error}") from None
        return values

    def read_reply(self, response: Response) -> Vote:
        """Returns the values of a response.

        Raises ReplyError like ``read``, or if the judge refused.
        """
        if response.is_refused and not self.reads_refusals:
            raise ReplyError("the judge refused")
        return self.read(response.text)

    def fault(self, response: Response) -> str:
        """Returns a description of what is wrong with a reply, for ``Call.accept``.

        The string is empty if the reply fits the form.
        """
        try:
            self.read_reply(response)
        except ReplyError as error:
            return str(error)
        return ""
