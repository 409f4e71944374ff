"""Renders Jinja templates within limits of time and memory, as a small one may ask for
any amount of both.

A plain template, which takes time in proportion to its values and its text, is rendered
here. Any other is rendered in the decoding process, at a few milliseconds each.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any

from jinja2 import (
    StrictUndefined,
    Template,
    TemplateError,
    TemplateRuntimeError,
    TemplateSyntaxError,
    Undefined,
    UndefinedError,
    meta,
    nodes,
)
from jinja2.sandbox import ImmutableSandboxedEnvironment

from mmeval.content.media import Media
from mmeval.decode.apart import Step, steps_apart
from mmeval.decode.limits import DEFAULT_LIMITS, DecodeLimits
from mmeval.errors import Caught, ContentError

MAX_CHARS = 4_000_000
"""A longer text is an error: a loop in the template, or data that belong into a
document."""

_FREE = (
    nodes.Template,
    nodes.Output,
    nodes.TemplateData,
    nodes.If,
    nodes.CondExpr,
    nodes.And,
    nodes.Or,
    nodes.Not,
    nodes.Name,
    nodes.Const,
    nodes.Getattr,
    nodes.Getitem,
    nodes.Compare,
    nodes.Operand,
    nodes.Neg,
    nodes.Pos,
    nodes.List,
    nodes.Tuple,
)
"""What takes no time of its own, apart from comparing values and writing the text."""
_WORK = (nodes.For, nodes.Filter, nodes.Call)
"""What takes time in proportion to its operand, and makes nothing larger of it; of
filters and methods, those below."""
_MOST_WORK = 100
_FILTERS = (
    "capitalize",
    "count",
    "d",
    "default",
    "first",
    "float",
    "int",
    "items",
    "last",
    "length",
    "lower",
    "title",
    "trim",
    "upper",
)
_METHODS = (
    "endswith",
    "get",
    "items",
    "keys",
    "lower",
    "lstrip",
    "rstrip",
    "startswith",
    "strip",
    "title",
    "upper",
    "values",
)
_TESTS = (
    "boolean",
    "defined",
    "false",
    "mapping",
    "none",
    "number",
    "sequence",
    "string",
    "true",
    "undefined",
)
_LONGEST_ARGUMENT = 20
_MOST_KEYS_SHOWN = 5
_MOST_CHARS_SHOWN = 60
_EXPRESSION = re.compile(r"\s*\{\{(.*)\}\}\s*", re.DOTALL)


def _joined(chunks: Iterable[str]) -> str:
    out: list[str] = []
    length = 0
    for chunk in chunks:
        length += len(chunk)
        if length > MAX_CHARS:
            raise TemplateRuntimeError(
                f"its text is longer than {MAX_CHARS} characters"
            )
        out.append(chunk)
    return "".join(out)


_ENVIRONMENT = ImmutableSandboxedEnvironment(
    undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True
)


def mapping_fault(value: Mapping[str, Any]) -> str:
    """Why a mapping is not written into a text."""
    keys = ", ".join(map(str, islice(value, _MOST_KEYS_SHOWN)))
    return (
        f"a mapping is written into a text; name one of its keys ({keys}), as in "
        "{{ column.key }}"
    )


def _writable(value: Any) -> Any:
    """A value that a template writes. Raises TemplateRuntimeError for a mapping, and
    for a list of them: nobody means its Python form."""
    items = value if isinstance(value, (list, tuple)) else (value,)
    for item in items:
        if isinstance(item, Mapping):
            raise TemplateRuntimeError(mapping_fault(item))
    return value


def literal(value: Any) -> Any:
    """The list or mapping that a text is, as Python or JSON writes it; filter
    ``literal``.

    A text that opens with neither ``[`` nor ``{`` stays as it is, as does any other
    value; a blank one is null. Raises TemplateRuntimeError for what opens so and is
    neither, and for texts in a list without a comma between them, which numpy writes.
    """
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not text.startswith(("[", "{")):
        return value if text else None
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        pass
    try:
        _check_commas(text)
        return _as_json(ast.literal_eval(text))
    except (
        tokenize.TokenError,
        SyntaxError,
        ValueError,
        TypeError,
        MemoryError,
        RecursionError,
    ) as error:
        raise TemplateRuntimeError(
            f"{text[:_MOST_CHARS_SHOWN]!r} is neither a list nor a mapping as Python "
            f"or JSON writes it ({str(error).partition(' (')[0]})"
        ) from None


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is not a number in JSON")


def _check_commas(text: str) -> None:
    """Raises ValueError for two texts side by side, which Python makes one of."""
    was_text = False
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_text = token.type == tokenize.STRING
        if is_text and was_text:
            raise ValueError("a comma between two texts is missing")
        was_text = is_text or (was_text and token.type == tokenize.NL)


def _as_json(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_as_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _as_json(item) for key, item in value.items()}
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise ValueError(f"it holds {type(value).__name__}")


_ENVIRONMENT.filters["literal"] = literal
_ROW_ENVIRONMENT = _ENVIRONMENT.overlay(finalize=_writable)
_ENVIRONMENT.concat = _joined  # type: ignore[method-assign]  # jinja2's own hook for joining what a template yields
_ROW_ENVIRONMENT.concat = _joined  # type: ignore[method-assign]  # as above


@dataclass(frozen=True)
class BoundedTemplate:
    """A template over JSON values.

    Whatever is wrong with it, or takes more than the limits allow, is a TemplateError
    of jinja2.
    """

    source: str

    @cached_property
    def reads(self) -> frozenset[str]:
        """The values that it reads."""
        return frozenset(json.loads(self._done("reads", {})))

    def render(self, values: Mapping[str, Any]) -> str:
        return self._done("render", values)

    def content(self, values: Mapping[str, Any]) -> str:
        """The text; a mapping that would be written into it is an error."""
        return self._done("content", values)

    def value(self, values: Mapping[str, Any]) -> str:
        """The value of a template that is one expression, as JSON; else its text as
        JSON."""
        return self._done("value", values)

    @cached_property
    def _is_plain(self) -> bool:
        tree = _ENVIRONMENT.parse(self.source)
        return sum(1 for _ in tree.find_all(_WORK)) <= _MOST_WORK and _is_plain(tree)

    def _done(self, what: str, values: Mapping[str, Any]) -> str:
        with Caught(TemplateError) as failure:
            return (
                _WAYS[what](self.source, values)
                if self._is_plain
                else _apart(self.source, what, values)
            )
        deep = isinstance(failure.error, RecursionError)
        raise TemplateRuntimeError(
            "it is nested too deeply" if deep else str(failure.error) or failure.reason
        )


def _is_plain(node: nodes.Node, own: frozenset[str] | None = None) -> bool:
    """Whether a part of a template takes time in proportion to values and text, and no
    memory beside the text.

    ``own`` are the variables of the loop around it. In a loop only they are worked on:
    they are pieces of a value, where the whole of another value would be worked on in
    each step.
    """
    works = isinstance(node, _WORK) or (
        isinstance(node, nodes.Compare) and _is_work(node)
    )
    if not (
        works
        or isinstance(node, _FREE)
        or (isinstance(node, nodes.Test) and node.name in _TESTS)
    ):
        return False
    if isinstance(node, (nodes.Filter, nodes.Call)) and not _keeps_size(node):
        return False
    worked_on = node.iter if isinstance(node, nodes.For) else node
    if works and own is not None and not _names(worked_on) <= own | {"loop"}:
        return False
    if works and own is not None and isinstance(worked_on, (nodes.List, nodes.Tuple)):
        return False  # each step would go through the same values again
    if not isinstance(node, nodes.For):
        return all(_is_plain(child, own) for child in node.iter_child_nodes())
    body = [*node.body, *filter(None, (node.test,))]
    return (
        not node.recursive
        and all(_is_plain(child, own) for child in (node.iter, *node.else_))
        and all(_is_plain(child, _names(node.target)) for child in body)
    )


def _keeps_size(node: nodes.Filter | nodes.Call) -> bool:
    """Whether a filter or method makes nothing longer of its operand.
    A list that is written as text does: each time it escapes its words once more."""
    if (
        node.kwargs
        or node.dyn_args
        or node.dyn_kwargs
        or next(node.find_all((nodes.List, nodes.Tuple)), None)
    ):
        return False
    if isinstance(node, nodes.Filter):
        return node.name in _FILTERS and (
            not node.args or node.name in ("d", "default")
        )
    return (
        isinstance(node.node, nodes.Getattr)
        and node.node.attr in _METHODS
        and all(map(_is_short, node.args))
    )


def _is_work(node: nodes.Compare) -> bool:
    """Whether a comparison takes time in proportion to a value: not with a short
    constant, but if it searches there."""
    long = [
        side
        for side in (node.expr, *(item.expr for item in node.ops))
        if not _is_short(side)
    ]
    return len(long) > 1 or any("in" in item.op for item in node.ops)


def _is_short(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Const) and len(str(node.value)) <= _LONGEST_ARGUMENT


def _names(node: nodes.Node) -> frozenset[str]:
    return frozenset(
        name.name
        for name in (node, *node.find_all(nodes.Name))
        if isinstance(name, nodes.Name)
    )


def _apart(source: str, what: str, values: Mapping[str, Any]) -> str:
    data = json.dumps([source, what, values]).encode()
    media = Media(data=data, mime="application/json", size=len(data), name="template")
    try:
        with contextlib.closing(
            steps_apart(
                "mmeval.decode.template:template_steps", media, data, DEFAULT_LIMITS
            )
        ) as steps:
            step = next(steps)
    except ContentError:
        seconds = DEFAULT_LIMITS.step_seconds(len(data))
        size = DEFAULT_LIMITS.step_bytes(len(data))
        raise TemplateRuntimeError(
            f"it takes more than {seconds:.3g} seconds of processor time or "
            f"{size >> 20} MiB of memory; "
            "make its loops shorter, and what it repeats smaller"
        ) from None
    if undefined := step.facts.get("undefined"):
        raise UndefinedError(undefined)
    if fault := step.facts.get("fault"):
        raise TemplateRuntimeError(fault)
    return step.buffers[0].decode("utf-8", "surrogatepass")


def template_steps(media: Media, _limits: DecodeLimits) -> Iterator[Step]:
    """One step: the text, or what is wrong. Runs in the decoding process."""

    def steps() -> Iterator[Step]:
        source, what, values = json.loads(media.read())
        with Caught(MemoryError) as failure:
            text = _WAYS[what](source, values)
        if not failure:
            yield Step({}, (text.encode("utf-8", "surrogatepass"),))
        elif isinstance(failure.error, UndefinedError):
            yield Step({"undefined": str(failure.error)})
        else:
            yield Step({"fault": str(failure.error) or failure.reason})

    return steps()


def _reads(source: str, _values: Mapping[str, Any]) -> str:
    return json.dumps(
        list(
            meta.find_undeclared_variables(_ENVIRONMENT.parse(source))
            - _ENVIRONMENT.globals.keys()
        )
    )


def _render(source: str, values: Mapping[str, Any]) -> str:
    return _template(source).render(values)


def _content(source: str, values: Mapping[str, Any]) -> str:
    return _row_template(source).render(values)


def _value(source: str, values: Mapping[str, Any]) -> str:
    expression = _expression(source)
    found = _render(source, values) if expression is None else expression(values)
    return _joined(
        (
            json.dumps(
                str(found) if isinstance(found, Undefined) else found,
                ensure_ascii=False,
            ),
        )
    )


_WAYS: Mapping[str, Callable[[str, Mapping[str, Any]], str]] = {
    "reads": _reads,
    "render": _render,
    "content": _content,
    "value": _value,
}


@lru_cache(maxsize=256)
def _template(source: str) -> Template:
    return _ENVIRONMENT.from_string(source)


@lru_cache(maxsize=256)
def _row_template(source: str) -> Template:
    return _ROW_ENVIRONMENT.from_string(source)


@lru_cache(maxsize=256)
def _expression(source: str) -> Callable[..., Any] | None:
    """What computes a template that is nothing but ``{{ expression }}``."""
    match = _EXPRESSION.fullmatch(source)
    try:
        return (
            _ENVIRONMENT.compile_expression(match[1], undefined_to_none=False)
            if match
            else None
        )
    except TemplateSyntaxError:  # several expressions
        return None
