"""Parses command lines. Hyphens count as underscores. Errors suggest similar flags."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

from mmeval.errors import UsageError, did_you_mean
from mmeval.report.terminal import WIDEST_LIST, columns
from mmeval.settings.flags import BY_NAME, REFUSED, REFUSED_SHORT, Flag
from mmeval.settings.values import SWITCH_WORDS, arguments

_UNSET = argparse.SUPPRESS
_WRITTEN: Mapping[int | str | None, str] = MappingProxyType(
    {None: "{0}", "?": "[{0}]", "*": "[{0} ...]", "+": "{0} [{0} ...]"}
)
"""How the first line of a help writes a positional argument, by its ``nargs``."""


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of a verb's description. Fits the flags to the terminal."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=columns(widest=WIDEST_LIST))


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises UsageError instead of ending the process."""

    unknown_hint = ""
    """A hint for an unknown flag. Messages show the hint after similar flags."""
    explained: Mapping[str, str] = MappingProxyType({})
    """Maps flags of other verbs to the reason why this verb does not accept them.

    Messages show the reason instead of similar flags.
    """

    def __init__(self, prog: str, description: str) -> None:
        super().__init__(
            prog=prog,
            description=description,
            allow_abbrev=False,
            formatter_class=_HelpFormatter,
        )
        self.ending: Callable[[], str] = lambda: ""
        """Returns the end of the help. It is called only when the help is printed."""

    def format_help(self) -> str:
        """Returns the help. Its first line does not list the flags, which follow."""
        words = [self.prog]
        for action in self._actions:
            if not action.option_strings:
                name = str(action.metavar)
                words.append(_WRITTEN[action.nargs].format(name))
        self.usage = " ".join([*words, "[FLAGS]"])
        self.epilog = self.ending()
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        raise UsageError(
            f"{message.removeprefix('argument ')} (see '{self.prog} --help')"
        )

    def read(self, argv: Sequence[str]) -> argparse.Namespace:
        """Parses the arguments of one verb. Raises UsageError for unknown arguments."""
        normalised: list[str] = []
        for word in argv:
            name, equals, value = word.partition("=")
            flag = "--" + name[2:].replace("-", "_")
            is_unknown = name.startswith("--") and not self.knows(name)
            if is_unknown and self.knows(flag):  # --model-args=x for --model_args=x
                normalised.append(flag + equals + value)
            else:
                normalised.append(word)
        words: list[str] = []
        next_words = [*normalised[1:], "-"]  # the last word has no value after it
        for word, after in zip(normalised, next_words, strict=False):
            action = self._option_string_actions.get(word)
            words.append(word)
            if action is None or action.nargs != "?" or action.const is not True:
                continue
            needs_no_value = after.startswith("-") or after.lower() in SWITCH_WORDS
            if not needs_no_value:  # the next word belongs to another argument
                words[-1] += "=true"
        args, unknown = self.parse_known_args(words)
        takes_words = any(
            not action.option_strings and action.nargs in ("+", "*")
            for action in self._actions
        )
        has_flags = any(word.startswith("-") for word in unknown)
        if unknown and takes_words and not has_flags:
            # intermixed, because positional words may come after a flag
            args, unknown = self.parse_known_intermixed_args(words)
        if unknown:
            raise UsageError(self._complaint(unknown[0]))
        return args

    def knows(self, option: str) -> bool:
        return option in self._option_string_actions

    def _complaint(self, word: str) -> str:
        if not word.startswith("-"):
            return f"unexpected argument {word!r} ('{self.prog} --help' explains)"
        written = word.partition("=")[0]
        name = "--" + written.lstrip("-").replace("-", "_")
        if name in self.explained:
            return (
                f"unknown flag {name}: {self.explained[name]} ('{self.prog} --help' "
                "lists the flags)"
            )
        role = name.removeprefix("--")
        if role in BY_NAME and not self.knows(name):
            advice = "; it is a flag of 'mmeval run'"
        else:
            shown: list[str] = []
            for option, action in self._option_string_actions.items():
                if option.startswith("--") and action.help is not argparse.SUPPRESS:
                    shown.append(option)
            advice = did_you_mean(name, shown)
        if not advice and self.knows("--role"):  # tasks have their own roles
            advice = f"; if {role} is a role of a task, write --role {role}=BACKEND"
        unknown = f"unknown flag {written}{advice}{self.unknown_hint}"
        return f"{unknown} ('{self.prog} --help' lists the flags)"


def add_flags(parser: argparse.ArgumentParser, flags: Iterable[Flag]) -> None:
    """Adds flags of the table, grouped by heading.

    The parsed arguments do not contain flags that were not given. Add the positional
    arguments of a verb before its flags. If the verb has any, a list flag takes one
    word (``a,b``) and may be repeated, because a list of several words would consume
    the positional arguments.
    """
    takes_words = any(not action.option_strings for action in parser._actions)
    groups: dict[str, argparse._ArgumentGroup] = {}
    for flag in flags:
        group = groups.get(flag.heading)
        if group is None:
            group = groups[flag.heading] = parser.add_argument_group(flag.heading)
        names = [f"--{flag.name}"]
        if flag.short:
            names.insert(0, f"-{flag.short}")
        options: dict[str, Any] = {"nargs": flag.nargs}
        if flag.repeatable or (flag.nargs == "+" and takes_words):
            options = {"action": "append"}
        elif flag.nargs == "?":
            options["const"] = True
        elif flag.read is arguments:  # a repeated flag adds to the earlier values
            options["action"] = "extend"
        group.add_argument(
            *names,
            **options,  # Any: each has its own type
            default=_UNSET,
            metavar=flag.metavar,
            help=flag.help,
        )


def add_refused(parser: argparse.ArgumentParser) -> None:
    """Adds unsupported flags. They are not in the help, and a later check reports
    them."""
    names = {name: [f"--{name}"] for name in REFUSED}
    for short, name in REFUSED_SHORT.items():
        names[name].insert(0, f"-{short}")
    for options in names.values():
        parser.add_argument(*options, nargs="*", default=_UNSET, help=argparse.SUPPRESS)
