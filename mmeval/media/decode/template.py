"""Renders Jinja templates in Jinja's sandbox, with a limit on their size.

A template has access to its values, but to no other Python objects. The rendered text,
and values that ``*`` creates, have at most ``MAX_CHARS`` characters. Jinja itself
limits ``range``.

Time and other memory are not limited, because templates are written by users, not by
models. The user can stop endless nested loops by pressing Ctrl-C twice.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, wraps
from itertools import islice
from typing import Any, ParamSpec, TypeVar

from jinja2 import (
    StrictUndefined,
    Template,
    TemplateError,
    TemplateRuntimeError,
    TemplateSyntaxError,
    Undefined,
    meta,
)
from jinja2.sandbox import ImmutableSandboxedEnvironment

MAX_CHARS = 4_000_000
"""The maximum number of characters of a text. A longer text usually comes from a loop
in the template, or from data that belong in a document."""

MAX_EXPONENT = 64
_MOST_KEYS_SHOWN = 5
_MOST_CHARS_SHOWN = 60
P = ParamSpec("P")
T = TypeVar("T")
_EXPRESSION = re.compile(r"\s*\{\{(.*)\}\}\s*", re.DOTALL)


def _joined(chunks: Iterable[str]) -> str:
    """Joins the chunks of a template into one string.

    Jinja's own function has no limit.
    """
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


class _Sandbox(ImmutableSandboxedEnvironment):
    """A sandbox in which ``*`` and ``**`` cannot create huge values."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(
        self,
        context: Any,
        operator: str,
        left: Any,
        right: Any,
    ) -> Any:
        if operator == "**" and abs(right) > MAX_EXPONENT:
            raise TemplateRuntimeError(f"its exponent is larger than {MAX_EXPONENT}")
        if _repeats_too_much(left, right) or _repeats_too_much(right, left):
            raise TemplateRuntimeError(
                f"its * makes a value longer than {MAX_CHARS} characters or items"
            )
        return super().call_binop(context, operator, left, right)


def _repeats_too_much(value: Any, times: Any) -> bool:
    is_sequence = isinstance(value, (str, list, tuple))
    return is_sequence and isinstance(times, int) and len(value) * times > MAX_CHARS


_ENVIRONMENT = _Sandbox(
    undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True
)


def mapping_fault(value: Mapping[str, Any]) -> str:
    """Returns why a mapping cannot be written into a text."""
    keys = ", ".join(map(str, islice(value, _MOST_KEYS_SHOWN)))
    return (
        f"a mapping cannot be written into a text; use one of its keys ({keys}), as in "
        "{{ column.key }}"
    )


def _writable(value: Any) -> Any:
    """Returns a value that a template writes into its text, after a check.

    Raises TemplateRuntimeError for a mapping or a list of mappings, because a text must
    not contain their Python form.
    """
    items = value if isinstance(value, (list, tuple)) else (value,)
    for item in items:
        if isinstance(item, Mapping):
            raise TemplateRuntimeError(mapping_fault(item))
    return value


def literal(value: Any) -> Any:
    """Returns the list or mapping in a text, in Python or JSON notation.

    This is the filter ``literal``.

    A text that does not start with ``[`` or ``{``, and a value that is not a text, are
    returned unchanged. For a blank text, the result is null. Raises
    TemplateRuntimeError for an invalid list or mapping. Also raises it for a list of
    strings without commas between them, as numpy prints lists.
    """
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not text.startswith(("[", "{")):
        return value if text else None

    def refuse_constant(word: str) -> Any:
        raise ValueError(f"{word} is not a number in JSON")

    try:
        return json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        pass
    try:
        was_text = False
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            is_text = token.type == tokenize.STRING
            if is_text and was_text:  # Python would join them into one string.
                raise ValueError("a comma between two strings is missing")
            was_text = is_text or (was_text and token.type == tokenize.NL)
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


def _as_json(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_as_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _as_json(item) for key, item in value.items()}
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise ValueError(f"it contains {type(value).__name__}")


_ENVIRONMENT.filters["literal"] = literal
_ROW_ENVIRONMENT = _ENVIRONMENT.overlay(finalize=_writable)
_ENVIRONMENT.concat = _joined  # type: ignore[method-assign]  # jinja2's hook for joining the chunks
_ROW_ENVIRONMENT.concat = _joined  # type: ignore[method-assign]  # as above


def _with_errors_of_jinja(function: Callable[P, T]) -> Callable[P, T]:
    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except TemplateError:
            raise
        except RecursionError:
            raise TemplateRuntimeError("it is nested too deeply") from None
        # A filter or operator may raise any exception for an unsuitable value.
        except Exception as error:
            reason = str(error) or type(error).__name__
            raise TemplateRuntimeError(reason) from None

    return wrapper


@dataclass(frozen=True)
class BoundedTemplate:
    """A template that is rendered with JSON values.

    If the template has a fault, or if the text is longer than the limit, raises
    jinja2's TemplateError.
    """

    source: str

    @cached_property
    @_with_errors_of_jinja
    def reads(self) -> frozenset[str]:
        """The names of the values that the template reads."""
        tree = _ENVIRONMENT.parse(self.source)
        names = meta.find_undeclared_variables(tree) - _ENVIRONMENT.globals.keys()
        return frozenset(names)

    @_with_errors_of_jinja
    def render(self, values: Mapping[str, Any]) -> str:
        return _template(self.source).render(values)

    @_with_errors_of_jinja
    def content(self, values: Mapping[str, Any]) -> str:
        """Returns the rendered text. Raises an error for a mapping in the text."""
        return _template(self.source, of_row=True).render(values)

    @_with_errors_of_jinja
    def value(self, values: Mapping[str, Any]) -> str:
        """Returns the result as JSON.

        If the template is a single expression, the result is the value of this
        expression. Otherwise, it is the rendered text.
        """
        expression = _expression(self.source)
        if expression is None:
            value = _template(self.source).render(values)
        else:
            value = expression(values)
        if isinstance(value, Undefined):
            value = str(value)  # raises UndefinedError
        return _joined([json.dumps(value, ensure_ascii=False)])


@lru_cache(maxsize=512)
def _template(source: str, *, of_row: bool = False) -> Template:
    environment = _ROW_ENVIRONMENT if of_row else _ENVIRONMENT
    return environment.from_string(source)


@lru_cache(maxsize=256)
def _expression(source: str) -> Callable[..., Any] | None:
    """Returns the compiled expression of a template.

    The result is None if the template is not just ``{{ expression }}``.
    """
    match = _EXPRESSION.fullmatch(source)
    if match is None:
        return None
    try:
        return _ENVIRONMENT.compile_expression(match[1], undefined_to_none=False)
    except TemplateSyntaxError:  # The template has several expressions.
        return None
