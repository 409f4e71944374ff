"""Recipes, which extract the text of a prompt from a released file.

| recipe | is |
|---|---|
| ``name SCOPE:NAME["key"][0]`` | the first assignment to NAME, then keys or indices |
| ``text SCOPE:n/m`` | the n-th literal text of at least m characters |
| ``returned SCOPE:`` | the first text that a function returns |
| ``section "A" -> "B"`` | the lines between line A and line B, or the end |
| ``file`` | the whole file |

SCOPE is a function (``judge``), a method (``Judge.ask``) or empty for the module. A
function's docstring is not counted. ``stripped`` after a recipe removes the blanks
around the text.

A Python file is read as data and never run. In an f-string, and in a sum of texts,
values become ``{expression}`` and other braces are doubled.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from mmeval.errors import UsageError

MAX_CHARS = 2_000_000
_STRIPPED = " stripped"
_PYTHON = re.compile(
    r"(?P<kind>name|text|returned) (?P<scope>[\w.]*):"
    r"(?P<name>\w*)(?P<keys>(?:\[[^\]]+\])*)(?:/(?P<least>\d+))?"
)
_SECTION = re.compile(r'section "(?P<first>[^"]+)"(?: -> "(?P<last>[^"]+)")?')
_KEY = re.compile(r'\[(?:"(?P<name>[^"]+)"|(?P<index>\d+))\]')


class RecipeError(UsageError):
    """The error for an invalid recipe, or a file that does not contain its text."""


@dataclass(frozen=True)
class Recipe:
    """A recipe as it is written. Raises RecipeError if it is not a recipe."""

    written: str

    def __post_init__(self) -> None:
        words = self._words
        if words != "file" and not _SECTION.fullmatch(words):
            _python_place(words)

    @property
    def _words(self) -> str:
        return self.written.removesuffix(_STRIPPED)

    def extract(self, content: str) -> str:
        """Returns the text in the content of a file.

        Raises RecipeError if the content has no such text.
        """
        try:
            text = self._text(content)
        except RecursionError:
            # a sum of thousands of texts is a tree of that depth
            raise RecipeError("the file is nested too deeply") from None
        return text.strip() if self.written.endswith(_STRIPPED) else text

    def _text(self, content: str) -> str:
        words = self._words
        if words == "file":
            return content
        section = _SECTION.fullmatch(words)
        if section is not None:
            return _lines_between(content, section["first"], section["last"])
        place = _python_place(words)
        scope = _scope(_module(content), place.scope)
        if place.kind == "text":
            return _long_text(scope, int(place.name), place.least)
        if place.kind == "returned":
            return _returned_text(scope)
        return _assigned_text(scope, place)


@dataclass(frozen=True)
class _PythonPlace:
    kind: str
    scope: str
    name: str
    keys: tuple[str | int, ...]
    least: int


def _python_place(words: str) -> _PythonPlace:
    match = _PYTHON.fullmatch(words)
    if match is None:
        raise RecipeError(f"{words!r} is not a recipe")
    kind = match["kind"]
    has_place = {
        "name": bool(match["name"]) and match["least"] is None,
        "text": match["name"].isdigit() and match["least"] is not None,
        "returned": not match["name"] and match["least"] is None,
    }
    if not has_place[kind] or (kind != "name" and match["keys"]):
        raise RecipeError(f"{words!r} is not a recipe")
    keys: list[str | int] = []
    for key in _KEY.finditer(match["keys"]):
        keys.append(key["name"] or int(key["index"]))
    least = int(match["least"] or 0)
    return _PythonPlace(kind, match["scope"], match["name"], tuple(keys), least)


def _lines_between(content: str, first: str, last: str | None) -> str:
    lines = content.splitlines()
    headings = [line.strip() for line in lines]
    if first not in headings:
        raise RecipeError(f"there is no line {first!r}")
    begin = headings.index(first) + 1
    end = len(lines)
    if last is not None:
        if last not in headings[begin:]:
            raise RecipeError(f"there is no line {last!r} after {first!r}")
        end = headings.index(last, begin)
    # a section may stand in three double quotes
    return "\n".join(lines[begin:end]).strip().strip('"').strip()


def _module(content: str) -> ast.Module:
    """Returns the syntax tree of a file, without its first faulty line."""
    if len(content) > MAX_CHARS:
        raise RecipeError(f"the file has more than {MAX_CHARS:,} characters")
    try:
        try:
            return _parsed(content)
        except SyntaxError as error:
            # a released file has a comment in the place of a value
            lines = content.splitlines()
            lines[(error.lineno or 1) - 1] = ""
            return _parsed("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise RecipeError(f"the file is not Python ({error})") from None


def _parsed(content: str) -> ast.Module:
    with warnings.catch_warnings():
        # Python warns of an escape such as \d, but reads it
        warnings.simplefilter("ignore")
        return ast.parse(content)


def _scope(module: ast.Module, name: str) -> ast.AST:
    scope: ast.AST = module
    for part in name.split(".") if name else ():
        inner = _inner_scope(scope, part)
        if inner is None:
            raise RecipeError(f"there is no function {name!r}")
        scope = inner
    return scope


def _inner_scope(scope: ast.AST, name: str) -> ast.AST | None:
    for node in ast.walk(scope):
        if (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and node.name == name
        ):
            return node
    return None


def _assigned_text(scope: ast.AST, place: _PythonPlace) -> str:
    for node in _in_order(scope):
        if isinstance(node, ast.Assign) and _names(node.targets, place.name):
            value = node.value
            for key in place.keys:
                value = _item(value, key)
            return _text_of(value)
    raise RecipeError(f"nothing is assigned to {place.name!r}")


def _names(targets: Sequence[ast.expr], name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _item(value: ast.expr, key: str | int) -> ast.expr:
    if isinstance(value, ast.Dict):
        for name, item in zip(value.keys, value.values, strict=True):
            if isinstance(name, ast.Constant) and name.value == key:
                return item
    if isinstance(value, ast.List | ast.Tuple):
        items = dict(enumerate(value.elts))
        if isinstance(key, int) and key in items:
            return items[key]
    raise RecipeError(f"there is no item {key!r}")


def _long_text(scope: ast.AST, index: int, least: int) -> str:
    docstring = _docstring(scope)
    texts: list[str] = []
    for node in _in_order(scope):
        if node is not docstring and _is_text(node):
            text = _text_of(node)
            if len(text) >= least:
                texts.append(text)
    if index >= len(texts):
        raise RecipeError(f"there are only {len(texts)} texts of {least} characters")
    return texts[index]


def _returned_text(scope: ast.AST) -> str:
    for node in _in_order(scope):
        if isinstance(node, ast.Return) and node.value is not None:
            return _text_of(node.value)
    raise RecipeError("the function returns no text")


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """Yields the nodes below a node in source order, without the parts of texts."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not _is_text(child):
            yield from _in_order(child)


def _is_text(node: ast.AST) -> TypeGuard[ast.expr]:
    """Returns True for a literal text, an f-string, and a sum with one of them."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _is_text(node.left) or _is_text(node.right)
    return isinstance(node, ast.JoinedStr)


def _docstring(scope: ast.AST) -> ast.AST | None:
    body = getattr(scope, "body", [])
    is_text = bool(body) and isinstance(body[0], ast.Expr)
    return body[0].value if is_text else None


def _text_of(node: ast.expr) -> str:
    """Returns a literal text as it is, and the template of a formatted text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Lambda):
        return _text_of(node.body)
    if isinstance(node, ast.Call):
        return _text_of(_stripped(node))
    if not _is_text(node):
        raise RecipeError(f"line {node.lineno} has no literal text")
    return "".join(_template_pieces(node))


def _stripped(call: ast.Call) -> ast.expr:
    """Returns the text in ``"...".strip()``. The recipe says that it is stripped."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "strip":
        raise RecipeError(f"line {call.lineno} has no literal text")
    return call.func.value


def _template_pieces(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value.replace("{", "{{").replace("}", "}}")
    elif isinstance(node, ast.JoinedStr):
        for value in node.values:
            yield from _template_pieces(value)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from _template_pieces(node.left)
        yield from _template_pieces(node.right)
    else:
        value = node.value if isinstance(node, ast.FormattedValue) else node
        yield f"{{{ast.unparse(value)}}}"
