"""The parser: argparse, with hyphens as good as underscores, and misuse answered with the correct flag."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NoReturn

from mmeval.errors import UsageError, did_you_mean
from mmeval.settings.flags import REFUSED, REFUSED_SHORT, Flag
from mmeval.settings.values import SWITCH_WORDS

_UNSET = argparse.SUPPRESS


class Parser(argparse.ArgumentParser):
    """Raises UsageError where argparse would print its usage and end the process."""

    unknown_hint = ""
    """What is said of an unknown flag, behind the flags that look like it."""
    explained: Mapping[str, str] = MappingProxyType({})
    """By unknown flag that other verbs have, why this one has none, in the place of the flags that look like it."""

    def __init__(self, prog: str, description: str) -> None:
        super().__init__(
            prog=prog,
            description=description,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} ('{self.prog} --help' explains)")

    def read(self, argv: Sequence[str]) -> argparse.Namespace:
        """The arguments of one verb. Raises UsageError for what the verb does not know, offering near flags."""
        words = list(self._separated([self._spelt(word) for word in argv]))
        found, unknown = self.parse_known_args(words)
        if unknown and self._takes_many_words() and not any(word.startswith("-") for word in unknown):
            found, unknown = self.parse_known_intermixed_args(words)  # some words stand behind a flag
        if unknown:
            raise UsageError(self._complaint(unknown[0]))
        return found

    def knows(self, option: str) -> bool:
        return option in self._option_string_actions

    def _spelt(self, word: str) -> str:
        """``--model-args=x`` as ``--model_args=x``, if that is a flag and the other is not."""
        name, equals, value = word.partition("=")
        underscored = "--" + name[2:].replace("-", "_")
        if not name.startswith("--") or self.knows(name) or not self.knows(underscored):
            return word
        return underscored + equals + value

    def _separated(self, words: Sequence[str]) -> Iterator[str]:
        """A switch before a word that says neither true nor false as ``--switch=true``: the word is not its own."""
        for word, after in zip(words, [*words[1:], "-"], strict=False):
            action = self._option_string_actions.get(word)
            is_switch = action is not None and action.nargs == "?"
            foreign = not after.startswith("-") and after.lower() not in SWITCH_WORDS
            yield f"{word}=true" if is_switch and foreign else word

    def _complaint(self, word: str) -> str:
        if not word.startswith("-"):
            return f"unexpected argument {word!r} ('{self.prog} --help' explains)"
        name = "--" + word.partition("=")[0].lstrip("-").replace("-", "_")
        shown = [
            option
            for option, action in self._option_string_actions.items()
            if option.startswith("--") and action.help is not argparse.SUPPRESS
        ]
        if name in self.explained:
            return f"unknown flag {name}: {self.explained[name]} ('{self.prog} --help' lists the flags)"
        near = did_you_mean(name, shown)
        said = f"unknown flag {word.partition('=')[0]}{near or self._as_role(name)}{self.unknown_hint}"
        return f"{said} ('{self.prog} --help' lists the flags)"

    def _as_role(self, name: str) -> str:
        """What is said of a flag that may be meant for a role, of which each task has names of its own."""
        role = name.removeprefix("--")
        return f"; if {role} is a role that a task asks, write --role {role}=BACKEND" if self.knows("--role") else ""

    def _takes_many_words(self) -> bool:
        return any(not action.option_strings and action.nargs in ("+", "*") for action in self._actions)


def add_flags(parser: argparse.ArgumentParser, flags: Iterable[Flag]) -> None:
    """Add flags of the table, by their headings. A flag that was not given is absent from the parsed arguments.

    Where the verb takes words of its own, which must be added first, a list is one word (``a,b``) and may be repeated:
    else it would swallow them.
    """
    takes_words = any(not action.option_strings for action in parser._actions)
    groups: dict[str, argparse._ArgumentGroup] = {}
    for flag in flags:
        group = groups.get(flag.heading)
        if group is None:
            group = groups[flag.heading] = parser.add_argument_group(flag.heading)
        names = [*([f"-{flag.short}"] if flag.short else []), f"--{flag.name}"]
        if flag.repeatable or (flag.nargs == "+" and takes_words):
            group.add_argument(*names, action="append", default=_UNSET, metavar=flag.metavar, help=flag.help)
        elif flag.nargs == "?":
            group.add_argument(*names, nargs="?", const=True, default=_UNSET, metavar=flag.metavar, help=flag.help)
        else:
            group.add_argument(*names, nargs=flag.nargs, default=_UNSET, metavar=flag.metavar, help=flag.help)


def add_refused(parser: argparse.ArgumentParser) -> None:
    """Let the parser read the flags that are refused, so that they can be refused by name; the help omits them."""
    shorts = {name: f"-{short}" for short, name in REFUSED_SHORT.items()}
    for name in REFUSED:
        names = [*([shorts[name]] if name in shorts else []), f"--{name}"]
        parser.add_argument(*names, nargs="*", default=_UNSET, help=argparse.SUPPRESS)
