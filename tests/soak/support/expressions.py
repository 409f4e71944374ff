"""The regular expressions of the product, and lines that are hard for each.

As a script it searches those lines with every expression, and names each one before."""

import ast
import importlib
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
TREES = ("mmeval", "tasks", "metrics", "model_backends")
SIZE = 2**20
"""Characters of the lines that no expression may need more than a moment for."""
TRIED = 2**16
QUICK_SECONDS = 0.05
"""A line of ``TRIED`` characters that takes no longer is not searched at full size:
there it takes at most 256 times as long, even where time grows with the square."""
SEARCHES = frozenset(("findall", "finditer", "search", "split", "sub", "subn"))
"""Methods that begin at every place of a text; the others begin at the first."""
CHARACTERS = " a0A_\t\n<>\"'`-.,:;/\\{}[]()*#=é\x01"
"""Of which one stands for a class that has it."""
PARSER: Any = importlib.import_module("re._parser")
"""Python's own; it has no types, hence Any."""


@dataclass(frozen=True)
class Expression:
    """``place`` is its module and name, or line; ``method`` the one by which it reads a
    text that takes longest: ``finditer`` where a text is searched."""

    place: str
    pattern: str | bytes
    flags: int
    method: str


def expressions() -> list[Expression]:
    """All that are compiled when a module is imported, and those that a function writes
    out."""
    files = [file for tree in TREES for file in sorted((ROOT / tree).rglob("*.py"))]
    trees = {file: ast.parse(file.read_text("utf-8")) for file in files}
    methods = {file: _methods(tree) for file, tree in trees.items()}
    everywhere = _together(methods.values())
    found: dict[tuple[str | bytes, int], Expression] = {}
    for file, tree in trees.items():
        module = importlib.import_module(_module_of(file))
        named = {id(value): name for name, value in vars(module).items()}
        for pattern in _compiled(list(vars(module).values())):
            name = named.get(id(pattern), "")
            used = _used(name, methods[file], everywhere)
            _add(
                found,
                Expression(
                    f"{module.__name__}.{name}",
                    pattern.pattern,
                    pattern.flags & ~re.DEBUG,
                    method_of(used),
                ),
            )
        for call in _written_out(tree):
            text = ast.literal_eval(call.args[0])
            method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            _add(
                found,
                Expression(
                    f"{module.__name__}:{call.lineno}",
                    text,
                    0,
                    method_of({method}),
                ),
            )
    return list(found.values())


def _add(
    found: dict[tuple[str | bytes, int], Expression], expression: Expression
) -> None:
    key = (expression.pattern, expression.flags & ~re.UNICODE.value)
    if key not in found or expression.method == "finditer":
        found[key] = expression


def method_of(used: set[str]) -> str:
    """Of the methods that are used the one that tries most; all may be where none is
    known."""
    if used & {"match", "fullmatch"} and not used & SEARCHES:
        return "fullmatch" if "fullmatch" in used else "match"
    return "finditer"


def _module_of(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    names = parts if parts[0] == "mmeval" else ("mmeval", *parts)
    return ".".join(name for name in names if name != "__init__")


def _methods(tree: ast.Module) -> dict[str, set[str]]:
    """What a module calls of each name."""
    called: dict[str, set[str]] = defaultdict(set)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        owner = node.value
        if isinstance(owner, ast.Name):
            called[owner.id].add(node.attr)
        elif isinstance(owner, ast.Attribute):
            called[owner.attr].add(node.attr)
    return called


def _used(
    name: str, here: dict[str, set[str]], everywhere: dict[str, set[str]]
) -> set[str]:
    """What is called of a pattern: by its name, which other modules may use unless it
    begins with an underscore. One without a name stands in a table, and is called by
    the name of some variable."""
    if name.startswith("_"):
        return here.get(name, set())
    if name:
        return everywhere.get(name, set())
    variables = [called for variable, called in here.items() if variable.islower()]
    return set().union(*variables) - {"split"}  # of a text, more often than not


def _together(several: Iterable[dict[str, set[str]]]) -> dict[str, set[str]]:
    every: dict[str, set[str]] = defaultdict(set)
    for methods in several:
        for name, called in methods.items():
            every[name] |= called
    return every


def _compiled(values: list[object], depth: int = 2) -> Iterator[re.Pattern[Any]]:
    for value in values:
        if isinstance(value, re.Pattern):
            yield value
        elif depth and isinstance(value, dict):
            yield from _compiled(list(value.values()), depth - 1)
        elif depth and isinstance(value, tuple | list | frozenset | set):
            yield from _compiled(list(value), depth - 1)


def _written_out(tree: ast.Module) -> Iterator[ast.Call]:
    """The calls of functions of ``re`` with a literal, other than ``re.compile`` of a
    module."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        is_of_re = ast.unparse(node.func).startswith("re.")
        if is_of_re and isinstance(node.args[0], ast.Constant):
            plain = not node.keywords and not ast.unparse(node).count("re.IGNORE")
            if plain and ast.unparse(node.func) != "re.compile":
                yield node


@dataclass(frozen=True)
class HardLine:
    """A line of one text again and again behind another one, which ends as no match
    does."""

    before: str
    repeated: str

    def of(self, size: int) -> str:
        """The line with about ``size`` characters."""
        return self.before + self.repeated * (size // len(self.repeated)) + "\0"


def hard_lines(expression: Expression) -> list[HardLine]:
    """Lines in which much of a match stands again and again."""
    tokens = list(PARSER.parse(expression.pattern, expression.flags))
    lines = [HardLine("", unit) for unit in _units(tokens) if unit]
    lines += [HardLine(before, run) for before, run in _runs(tokens)]
    # blanks are most often the ends of lines
    broken = [
        HardLine(line.before, line.repeated.replace(" ", "\n"))
        for line in lines
        if 2 * line.repeated.count(" ") > len(line.repeated)
    ]
    return list(dict.fromkeys(lines + broken))


def _units(tokens: list[Any]) -> Iterator[str]:
    """A text for each beginning of a pattern, and for each character of it."""
    for count in range(1, len(tokens) + 1):
        yield _text(tokens[:count])
    for operation, value in tokens:
        if str(operation) == "BRANCH":
            for branch in value[1]:
                yield from _units(list(branch))
        elif _inner(operation, value):
            yield from _units(_inner(operation, value))
        else:
            yield _text([(operation, value)])


def _runs(tokens: list[Any]) -> Iterator[tuple[str, str]]:
    """The beginnings before each repetition, and a text for what is repeated."""
    for place, (operation, value) in enumerate(tokens):
        if str(operation).endswith("REPEAT"):
            yield _text(tokens[:place]), _text(list(value[2])) or " "
        elif str(operation) == "SUBPATTERN":
            before = _text(tokens[:place])
            for inner, run in _runs(list(value[3])):
                yield before + inner, run


def _inner(operation: Any, value: Any) -> list[Any]:
    match str(operation):
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return list(value[2])
        case "SUBPATTERN":
            return list(value[3])
        case "ATOMIC_GROUP":
            return list(value)
    return []


def _text(tokens: list[Any]) -> str:
    """A short text that tokens match, as far as can be seen without trying."""
    pieces = []
    for operation, value in tokens:
        match str(operation):
            case "LITERAL":
                pieces.append(chr(value))
            case "NOT_LITERAL":
                pieces.append("a" if value != ord("a") else "b")
            case "ANY":
                pieces.append("a")
            case "IN":
                pieces.append(_one_of(value))
            case "BRANCH":
                pieces.append(_text(list(value[1][0])))
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                pieces.append(_text(list(value[2])) * max(1, value[0]))
            case _:
                pieces.append(_text(_inner(operation, value)))
    return "".join(pieces)


def _one_of(members: list[Any]) -> str:
    """A character of a class."""
    negated = bool(members) and str(members[0][0]) == "NEGATE"
    listed = [chr(int(value)) for name, value in members if str(name) == "LITERAL"]
    candidates: list[str] = [*listed, *CHARACTERS]
    for character in candidates:
        if any(_has(member, character) for member in members) != negated:
            return character
    name, value = members[0]
    is_range = str(name) == "RANGE"
    return chr(int(value[0])) if is_range else "z"


def _has(member: tuple[Any, Any], character: str) -> bool:
    name, value = str(member[0]), member[1]
    if name == "LITERAL":
        return ord(character) == int(value)
    if name == "RANGE":
        low, high = value
        return bool(low <= ord(character) <= high)
    if name != "CATEGORY":
        return False
    category = str(value).removeprefix("CATEGORY_")
    is_in = {
        "DIGIT": character.isdigit(),
        "SPACE": character.isspace(),
        "WORD": character.isalnum() or character == "_",
    }[category.removeprefix("NOT_")]
    return is_in != category.startswith("NOT_")


def exhaust(expression: Expression) -> None:
    """Search all of its hard lines as the product does."""
    for line in hard_lines(expression):
        began = time.perf_counter()
        search(expression, line.of(TRIED))
        if time.perf_counter() - began > QUICK_SECONDS:
            search(expression, line.of(SIZE))


def search(expression: Expression, line: str) -> None:
    pattern = re.compile(expression.pattern, expression.flags)
    text: Any = line
    if isinstance(expression.pattern, bytes):
        text = line.encode("latin-1", "replace")
    found = getattr(pattern, expression.method)(text)
    if expression.method == "finditer":
        for _ in found:
            pass


if __name__ == "__main__":
    for each in expressions():
        print(each.place, repr(each.pattern), flush=True)
        exhaust(each)
    print("all of them", flush=True)
