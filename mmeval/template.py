"""Templates: prompts written as Jinja in task files.

A template sees ``input`` (the text of the sample's user message), ``id``, and the labels that ``prompt_fields`` names;
nothing else of a sample, so that no reference reaches the model. Media stand in ``input`` as marks that only this
process knows, and return to where the marks are once the template is rendered: no text in the data can pose as one.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError, UndefinedError, meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from mmeval.content import Interleaved, Part, text_part
from mmeval.errors import did_you_mean
from mmeval.prompt import PromptError, with_system
from mmeval.records import Message, Sample

MAX_PROMPT_CHARS = 4_000_000
"""A rendered template that is longer is an error: a loop in it, or data that belong into a document. It bounds what is
sent and not what rendering costs: the templates are those of task files, which the user chooses."""

_NONCE = f"{secrets.randbelow(10**30):030d}"
_MARK = re.compile(rf"\[{_NONCE}\.(\d+)\]")  # digits survive filters that change letters or escape


def _joined(chunks: Iterable[str]) -> str:
    out: list[str] = []
    length = 0
    for chunk in chunks:
        length += len(chunk)
        if length > MAX_PROMPT_CHARS:
            raise PromptError(f"a prompt is longer than {MAX_PROMPT_CHARS} characters")
        out.append(chunk)
    return "".join(out)


_ENVIRONMENT = ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True)
_ENVIRONMENT.concat = _joined  # type: ignore[method-assign]  # jinja2's own hook for joining what a template yields


def check_template(source: str, fields: Sequence[str]) -> None:
    """Raises PromptError for a template that does not compile, or that reads a variable which it will not be given."""
    known = ("input", "id", *fields)
    try:
        used = meta.find_undeclared_variables(_ENVIRONMENT.parse(source))
    except TemplateSyntaxError as error:
        raise PromptError(f"not a valid template, in its line {error.lineno}: {error.message}") from None
    except RecursionError:
        raise PromptError("not a valid template: it is nested too deeply") from None
    for name in sorted(used - {*known, *_ENVIRONMENT.globals}):
        raise PromptError(
            f"the template reads {name!r}{did_you_mean(name, known)}; it has {', '.join(known)}; "
            f"a label of the samples is named under prompt_fields first"
        )


@dataclass(frozen=True)
class TemplatePrompt:
    """Templates for the system message and for each user message; empty ones leave the sample's own as they are."""

    user: str = ""
    system: str = ""
    fields: tuple[str, ...] = ()

    @cached_property
    def _user(self) -> Template:
        return _ENVIRONMENT.from_string(self.user)

    @cached_property
    def _system(self) -> Template:
        return _ENVIRONMENT.from_string(self.system)

    def __getstate__(self) -> dict[str, Any]:
        return {"user": self.user, "system": self.system, "fields": self.fields}  # compiled code cannot be pickled

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)

    def __call__(self, sample: Sample) -> tuple[Message, ...]:
        messages = tuple(self._asked(message, sample) for message in sample.input) if self.user else sample.input
        if not self.system:
            return messages
        return with_system(self._rendered(self._system, sample, self._text_of(sample)), messages)

    def _asked(self, message: Message, sample: Sample) -> Message:
        """One user message through the template. Several are several turns: each is asked in the same words."""
        if message.role != "user":
            return message
        parts = message.content.parts
        if all(part.kind == "text" for part in parts):
            text = self._rendered(self._user, sample, "".join(part.text or "" for part in parts))
            return Message("user", Interleaved((text_part(text),)))
        marked = "".join(part.text or "" if part.kind == "text" else _mark(i) for i, part in enumerate(parts))
        return Message("user", Interleaved(_unmarked(self._rendered(self._user, sample, marked), parts, sample)))

    def _text_of(self, sample: Sample) -> str:
        return next((m.content.rendered() for m in sample.input if m.role == "user"), "")

    def _rendered(self, template: Template, sample: Sample, text: str) -> str:
        values: dict[str, Any] = {"input": text, "id": sample.id}
        metadata = sample.metadata
        for name in self.fields:
            if name in metadata:
                values[name] = metadata[name]
        try:
            return template.render(values)
        except PromptError as error:
            raise PromptError(f"sample {sample.id!r}: {error}") from None
        except UndefinedError as error:
            raise PromptError(f"sample {sample.id!r} lacks what the prompt reads: {error.message}") from None
        except (TemplateError, ArithmeticError, TypeError, ValueError, LookupError, AttributeError) as error:
            raise PromptError(f"sample {sample.id!r}: the prompt cannot be rendered: {error}") from None


def _mark(position: int) -> str:
    return f"[{_NONCE}.{position}]"


def _unmarked(text: str, parts: Sequence[Part], sample: Sample) -> tuple[Part, ...]:
    """The rendered text with the parts back in the places of their marks."""
    pieces = _MARK.split(text)
    placed = [int(position) for position in pieces[1::2]]
    for position, part in enumerate(parts):
        if part.kind != "text" and position not in placed:
            name = part.label or part.kind
            raise PromptError(
                f"sample {sample.id!r}: the template leaves out {name}; write {{{{ input }}}} whole into it"
            )
    found: list[Part] = [text_part(pieces[0])] if pieces[0] else []
    for position, words in zip(placed, pieces[2::2], strict=True):
        found.append(parts[position])
        if words:
            found.append(text_part(words))
    return tuple(found)
