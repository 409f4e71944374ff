"""Renders prompts written as Jinja templates, whose values may hold media.

In the text that a template sees, media are marks that only this process knows; once it
is rendered, they replace the marks. No text in the data can contain one.

``TemplatePrompt`` makes the prompt of a task: it sees ``input`` (the text of the
sample's user message), ``id``, and the labels that ``prompt_fields`` names; nothing
else of a sample, so that no reference reaches the model. ``PartsTemplate`` is a
template over any values.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from jinja2 import TemplateError, TemplateSyntaxError, UndefinedError

from mmeval.errors import SampleError, did_you_mean
from mmeval.media.decode.template import BoundedTemplate, mapping_fault
from mmeval.media.parts import Interleaved, Part, text_part
from mmeval.program.prompt import PromptError, with_system
from mmeval.records.sample import Message, Sample

Value: TypeAlias = (
    "str | int | float | Interleaved | Sequence[Value] | Mapping[str, Value] | None"
)
"""A value of a template: a text or number, content with media, or a list or mapping of
these."""

_NONCE = f"{secrets.randbelow(10**30):030d}"
# digits survive filters that change letters or escape
_MARK = re.compile(rf"\[{_NONCE}\.(\d+)\]")
_CUT_MARK = f"[{_NONCE[:8]}"


def check_template(source: str, fields: Sequence[str]) -> None:
    """Raises PromptError for a template with faulty syntax, or an unknown variable."""
    known = ("input", "id", *fields)
    for name in _unknown_names(BoundedTemplate(source), known):
        raise PromptError(
            f"the template reads {name!r}{did_you_mean(name, known)}; it has "
            f"{', '.join(known)}; "
            f"a label of the samples is named under prompt_fields first"
        )


def _unknown_names(template: BoundedTemplate, known: Sequence[str]) -> list[str]:
    try:
        return sorted(template.reads - set(known))
    except TemplateSyntaxError as error:
        raise PromptError(
            f"not a valid template, in its line {error.lineno}: {error.message}"
        ) from None
    except TemplateError as error:
        raise PromptError(f"not a valid template: {error}") from None


@dataclass(frozen=True)
class TemplatePrompt:
    """Templates for the system and each user message; an empty one leaves it as it is.
    Raises SampleError for a sample that they cannot be rendered with, PromptError if
    they leave out its media."""

    user: str = ""
    system: str = ""
    fields: tuple[str, ...] = ()
    place: str = field(default="", compare=False)
    """Where they stand, for messages: file and line."""

    @cached_property
    def _user(self) -> BoundedTemplate:
        return BoundedTemplate(self.user)

    @cached_property
    def _system(self) -> BoundedTemplate:
        return BoundedTemplate(self.system)

    def __call__(self, sample: Sample) -> tuple[Message, ...]:
        messages = sample.input
        if self.user:
            messages = tuple(self._asked(message, sample) for message in messages)
        if not self.system:
            return messages
        text = ""
        for message in sample.input:
            if message.role == "user":
                text = message.content.rendered()
                break
        return with_system(self._rendered(self._system, sample, text), messages)

    def _asked(self, message: Message, sample: Sample) -> Message:
        """A user message through the template; several are turns, asked in the same
        words."""
        if message.role != "user":
            return message
        parts = message.content.parts
        if all(part.kind == "text" for part in parts):
            text = self._rendered(
                self._user, sample, "".join(part.text or "" for part in parts)
            )
            return Message("user", Interleaved((text_part(text),)))
        placed: list[Part] = []
        text = self._rendered(self._user, sample, _marked(message.content, placed))
        found = _unmarked(text, placed)
        shown = set(map(id, found))
        for part in placed:
            if id(part) not in shown:
                raise PromptError(
                    f"sample {sample.id!r}: the template leaves out "
                    f"{part.label or part.kind}; write {{{{ input }}}} whole into it"
                )
        return Message("user", Interleaved(found))

    def _rendered(
        self,
        template: BoundedTemplate,
        sample: Sample,
        text: str,
    ) -> str:
        at = f"{self.place}: " if self.place else ""
        values: dict[str, Any] = {"input": text, "id": sample.id}
        metadata = sample.metadata
        for name in self.fields:
            if name in metadata:
                values[name] = metadata[name]
        try:
            return template.render(values)
        except UndefinedError as error:
            raise SampleError(
                f"{at}sample {sample.id!r} lacks what the prompt reads: {error.message}"
            ) from None
        except TemplateError as error:
            raise SampleError(
                f"{at}sample {sample.id!r}: the prompt cannot be rendered: {error}"
            ) from None


@dataclass(frozen=True)
class PartsTemplate:
    """A template over named values; content keeps its media where it is written.

    ``names`` are all that it may read. One ``of_rows`` writes no mapping into a text.
    Raises PromptError for a template that does not compile or that reads anything else.
    """

    source: str
    names: tuple[str, ...]
    of_rows: bool = False

    def __post_init__(self) -> None:
        for name in _unknown_names(self._template, self.names):
            raise PromptError(
                f"the template reads {name!r}{did_you_mean(name, self.names)}; it has "
                f"{', '.join(self.names)}"
            )

    @cached_property
    def _template(self) -> BoundedTemplate:
        return BoundedTemplate(self.source)

    @property
    def reads(self) -> frozenset[str]:
        """The values that it reads."""
        return self._template.reads

    def render(self, values: Mapping[str, Value]) -> Interleaved:
        """The text with the values' media in their places.

        Raises PromptError for values that it cannot be made of, and for a template that
        shows a part of a content's media and loses the others.
        """
        render = self._template.content if self.of_rows else self._template.render
        return self._contents(values, lambda given: [render(given)])[0]

    def each(self, values: Mapping[str, Value]) -> tuple[Interleaved, ...]:
        """The contents of a template that is one expression of a list; any other has
        one. Raises as ``render``."""

        def texts(given: Mapping[str, Any]) -> list[str]:
            found = json.loads(self._template.value(given))
            items = found if isinstance(found, list) else [found]
            for item in items:
                if isinstance(item, dict) and self.of_rows:
                    raise PromptError(mapping_fault(item))
            return list(map(str, items))

        return self._contents(values, texts)

    def value(self, values: Mapping[str, Value]) -> Any:
        """The value of a template that is one expression, as JSON; else its text.
        Raises PromptError where it has media."""
        found = self._contents(values, lambda given: [self._template.value(given)])[0]
        if found.media():
            raise PromptError("the value holds media, which belong into a content")
        return json.loads(found.text)

    def _contents(
        self,
        values: Mapping[str, Value],
        texts_of: Callable[[Mapping[str, Any]], list[str]],
    ) -> tuple[Interleaved, ...]:
        placed: list[Part] = []
        contents: list[range] = []
        given = _as_text(values, placed, contents)
        try:
            texts = texts_of(given)
        except TemplateError as error:
            raise PromptError(f"the prompt cannot be rendered: {error}") from None
        text = "".join(texts)
        shown = {int(position) for position in _MARK.findall(text)}
        if placed and _CUT_MARK in _MARK.sub("", text):
            raise PromptError(
                "the template cuts a content in the middle of a medium; write it whole"
            )
        for content in contents:
            if shown.intersection(content) and not shown.issuperset(content):
                raise PromptError(
                    "the template cuts a content and loses some of its media; write "
                    "it whole"
                )
        return tuple(Interleaved(_unmarked(text, placed)) for text in texts)


def _as_text(
    value: Value,
    placed: list[Part],
    contents: list[range],
) -> Any:
    """A value as a template sees it. Parts without text are added to ``placed``, their
    ranges by content to ``contents``."""
    if isinstance(value, Interleaved):
        first = len(placed)
        text = _marked(value, placed)
        contents.append(range(first, len(placed)))
        return text
    if isinstance(value, Mapping):
        return {name: _as_text(item, placed, contents) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_as_text(item, placed, contents) for item in value]
    return value


def _marked(content: Interleaved, placed: list[Part]) -> str:
    """The text of a content with a mark for each other part, which ``placed`` gets."""
    words: list[str] = []
    for part in content.parts:
        if part.kind == "text":
            words.append(part.text or "")
        else:
            words.append(f"[{_NONCE}.{len(placed)}]")
            placed.append(part)
    return "".join(words)


def _unmarked(text: str, placed: Sequence[Part]) -> tuple[Part, ...]:
    """The rendered text with the parts in place of their marks."""
    pieces = _MARK.split(text)
    found: list[Part] = [text_part(pieces[0])] if pieces[0] else []
    for position, words in zip(pieces[1::2], pieces[2::2], strict=True):
        found.append(placed[int(position)])
        if words:
            found.append(text_part(words))
    return tuple(found)
