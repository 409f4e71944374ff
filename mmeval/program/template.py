"""Renders prompts that are Jinja templates and whose values may contain media.

While a template is rendered, marks represent the media. A mark contains a random number
of this process, so that no text in the data can contain a mark. After rendering, the
media replace their marks.

``TemplatePrompt`` makes the prompt of a task. Its templates can use ``input`` (the text
of the sample's user message), ``id``, and the labels in ``prompt_fields``. They cannot
use other values, so that no reference reaches the model. ``PartsTemplate`` accepts any
values.
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
from mmeval.media.parts import TEXT_ITEM, Interleaved, Part, text_part
from mmeval.program.prompt import PromptError, with_system
from mmeval.records.sample import Message, Sample

Value: TypeAlias = (
    "str | int | float | Interleaved | Sequence[Value] | Mapping[str, Value] | None"
)
"""A value for a template: text, a number, content with media, or a list or mapping of
these."""

_NONCE = f"{secrets.randbelow(10**30):030d}"
# digits only: filters may change letters and escape other characters
_MARK = re.compile(rf"\[{_NONCE}\.(\d+)\]")
# the part that remains of a mark if a filter cuts it
_CUT_MARK = f"[{_NONCE[:8]}"


def check_template(source: str, fields: Sequence[str]) -> None:
    """Raises PromptError for a template with a syntax error or an unknown variable."""
    allowed = ("input", "id", *fields)
    for name in _unknown_names(BoundedTemplate(source), allowed):
        raise PromptError(
            f"the template uses {name!r}{did_you_mean(name, allowed)}; known are "
            f"{', '.join(allowed)}. Add a label of the samples to prompt_fields"
        )


def _unknown_names(template: BoundedTemplate, allowed: Sequence[str]) -> list[str]:
    try:
        return sorted(template.reads - set(allowed))
    except TemplateSyntaxError as error:
        raise PromptError(
            f"not a valid template, in line {error.lineno}: {error.message}"
        ) from None
    except TemplateError as error:
        raise PromptError(f"not a valid template: {error}") from None


@dataclass(frozen=True)
class TemplatePrompt:
    """Templates for the system message and each user message.

    An empty template leaves the message unchanged. Raises SampleError if a template
    cannot be rendered for a sample, and PromptError if the result lacks media of the
    sample.
    """

    user: str = ""
    system: str = ""
    fields: tuple[str, ...] = ()
    place: str = field(default="", compare=False)
    """The file and line of the prompt, for error messages."""

    @cached_property
    def _user(self) -> BoundedTemplate:
        return BoundedTemplate(self.user)

    @cached_property
    def _system(self) -> BoundedTemplate:
        return BoundedTemplate(self.system)

    def __call__(self, sample: Sample) -> tuple[Message, ...]:
        messages = sample.input
        if self.user:
            messages = tuple(
                self._render_message(message, sample) for message in messages
            )
        if not self.system:
            return messages
        text = ""
        for message in sample.input:
            if message.role == "user":
                text = message.content.rendered()
                break
        return with_system(self._rendered(self._system, sample, text), messages)

    def _render_message(self, message: Message, sample: Sample) -> Message:
        """Renders a user message. All turns of a sample use the same template."""
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
        parts_out = _unmarked(text, placed)
        shown = set(map(id, parts_out))
        for part in placed:
            if id(part) not in shown:
                raise PromptError(
                    f"sample {sample.id!r}: the template leaves out "
                    f"{part.label or part.kind}; it must contain the whole "
                    "{{ input }}"
                )
        return Message("user", Interleaved(parts_out))

    def _rendered(
        self,
        template: BoundedTemplate,
        sample: Sample,
        text: str,
    ) -> str:
        prefix = f"{self.place}: " if self.place else ""
        values: dict[str, Any] = {"input": text, "id": sample.id}
        metadata = sample.metadata
        for name in self.fields:
            if name in metadata:
                values[name] = metadata[name]
        try:
            return template.render(values)
        except UndefinedError as error:
            raise SampleError(
                f"{prefix}sample {sample.id!r} lacks a value that the prompt uses: "
                f"{error.message}"
            ) from None
        except TemplateError as error:
            raise SampleError(
                f"{prefix}sample {sample.id!r}: the prompt cannot be rendered: {error}"
            ) from None


@dataclass(frozen=True)
class PartsTemplate:
    """A template that uses named values, which may be content with media.

    ``names`` are the values that the template may use. With ``of_rows``, a mapping that
    is written into the text is an error. Raises PromptError if the template does not
    compile or uses other values.
    """

    source: str
    names: tuple[str, ...]
    of_rows: bool = False

    def __post_init__(self) -> None:
        for name in _unknown_names(self._template, self.names):
            raise PromptError(
                f"the template uses {name!r}{did_you_mean(name, self.names)}; known "
                f"are {', '.join(self.names)}"
            )

    @cached_property
    def _template(self) -> BoundedTemplate:
        return BoundedTemplate(self.source)

    @property
    def reads(self) -> frozenset[str]:
        """The names of the values that the template uses."""
        return self._template.reads

    def render(self, values: Mapping[str, Value]) -> Interleaved:
        """Renders the content, with the media of the values in their positions.

        Raises PromptError for values that cannot be rendered, and for a template that
        keeps some media of a content and loses others.
        """
        render = self._template.content if self.of_rows else self._template.render
        return self._contents(values, lambda text_values: [render(text_values)])[0]

    def contents(self, values: Mapping[str, Value]) -> tuple[Interleaved, ...]:
        """Renders the contents of a template that is a single expression for a list.

        Any other template results in one content. Raises the same errors as ``render``.
        """

        def texts(text_values: Mapping[str, Any]) -> list[str]:
            value = json.loads(self._template.value(text_values))
            items = value if isinstance(value, list) else [value]
            for item in items:
                if isinstance(item, dict) and self.of_rows:
                    raise PromptError(mapping_fault(item))
            return list(map(str, items))

        return self._contents(values, texts)

    def value(self, values: Mapping[str, Value]) -> Any:
        """Returns the JSON value of a template that is one expression, else its text.

        Raises PromptError if the value contains media.
        """
        content = self._contents(values, lambda texts: [self._template.value(texts)])[0]
        if content.media():
            raise PromptError(
                "the value contains media; only content can contain media"
            )
        return json.loads(content.text)

    def _contents(
        self,
        values: Mapping[str, Value],
        texts_of: Callable[[Mapping[str, Any]], list[str]],
    ) -> tuple[Interleaved, ...]:
        placed: list[Part] = []
        contents: list[range] = []
        text_values = _as_text(values, placed, contents)
        try:
            texts = texts_of(text_values)
        except TemplateError as error:
            raise PromptError(f"the prompt cannot be rendered: {error}") from None
        text = "".join(texts)
        shown = {int(position) for position in _MARK.findall(text)}
        if placed and _CUT_MARK in _MARK.sub("", text):
            raise PromptError(
                "the template cuts a content in the middle of a medium; insert it whole"
            )
        for content in contents:
            if shown.intersection(content) and not shown.issuperset(content):
                raise PromptError(
                    "the template cuts a content and loses some of its media; insert "
                    "it whole"
                )
        return tuple(Interleaved(_unmarked(text, placed)) for text in texts)


def _as_text(
    value: Value,
    placed: list[Part],
    contents: list[range],
) -> Any:
    """Replaces the media of a value by marks.

    Parts that are not text are added to ``placed``. For each content, the range of its
    parts is added to ``contents``.
    """
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
    """Replaces parts that are not text by marks, and adds these parts to ``placed``.

    A text that is an item of its own is replaced too.
    """
    words: list[str] = []
    for part in content.parts:
        if part.kind == "text" and part.label != TEXT_ITEM:
            words.append(part.text or "")
        else:
            words.append(f"[{_NONCE}.{len(placed)}]")
            placed.append(part)
    return "".join(words)


def _unmarked(text: str, placed: Sequence[Part]) -> tuple[Part, ...]:
    """Replaces the marks in a rendered text by their parts."""
    pieces = _MARK.split(text)
    parts: list[Part] = [text_part(pieces[0])] if pieces[0] else []
    for position, words in zip(pieces[1::2], pieces[2::2], strict=True):
        parts.append(placed[int(position)])
        if words:
            parts.append(text_part(words))
    return tuple(parts)
