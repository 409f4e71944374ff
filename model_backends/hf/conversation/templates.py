"""Chat templates: write a conversation as the model's text, and check for omissions.

A template is a program that comes with the model. Many templates silently drop parts
that they do not support (a system message, a picture in an answer, a second text). So
each conversation is checked: its words must occur in the text in order, and removing
any part must change the text.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from mmeval.errors import UsageError
from mmeval.model_backends.hf.checkpoint.files import ModelFiles
from mmeval.model_backends.hf.checkpoint.loading import tokenizer_of
from mmeval.model_backends.hf.conversation.messages import Chat
from mmeval.model_backends.hf.failures import RowError, in_a_line

_log = logging.getLogger(__name__)

Turn: TypeAlias = Mapping[str, Any]
"""A message with ``role`` and ``content``: a list of items, or a text for some
templates."""
Render: TypeAlias = Callable[[Sequence[Turn]], str]
Shape: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""The shape of a conversation: the role and the kinds of items of each message."""

_MARK = "mmevalmark{}x"
"""The text of a message in a test of a template: a word that no template writes."""
_MARKS = re.compile(_MARK.format("[0-9]+"))
_SYSTEM_MARK = "mmevalsystem{}x"
"""The text of a system message in a test. It differs, because some templates write the
system message before the last question."""
_RESERVED_ARGUMENTS = ("messages", "add_generation_prompt")
"""Template variables that the user cannot set."""
_LISTED = re.compile(r"""\{["']type["'] *: *["'](text|image|audio|video)["']""")
"""The output of a template that writes a list of items as a literal."""


class ChatTemplate:
    """A template and its known faults. ``render`` writes a complete conversation and
    the opening of the answer."""

    def __init__(self, render: Render) -> None:
        self._render = render
        self._plain: dict[str, bool] = {}
        self._faults: dict[Shape, tuple[str, str]] = {}

    def text(self, chat: Chat) -> tuple[str, tuple[str, ...]]:
        """The text of a conversation, and warnings.

        Raises RowError ``unsupported`` for a conversation that the template refuses or
        writes incompletely.
        """
        text = self._render_turns(chat.messages)
        if _listed(text, chat.messages):
            raise RowError(
                "unsupported",
                "the model's chat template supports only plain texts, not this "
                "conversation; give a template for lists of items with "
                "chat_template=FILE",
            )
        dropped, moved = self._fault(chat.messages)
        dropped = dropped or _missing_words(chat.messages, text)
        if dropped:
            raise RowError(
                "unsupported",
                f"the model's chat template drops {dropped}; give a template that "
                "keeps it with chat_template=FILE",
            )
        return text, (moved,) if moved else ()

    def writes_words(self) -> bool:
        """True if the template writes the words of a user message."""
        return self._writes_content("user", _items(_MARK)) or self._writes_content(
            "user", _MARK
        )

    def _render_turns(self, turns: Sequence[Turn]) -> str:
        return self._rendered([self._turn(turn) for turn in turns])

    def _rendered(self, turns: Sequence[Turn]) -> str:
        """Raises RowError ``unsupported`` if the template refuses the turns."""
        try:
            return self._render(turns)
        # the template is a program of the model and may raise any error
        except (Exception, SystemExit) as error:
            raise RowError(
                "unsupported",
                "the model's chat template refuses this conversation "
                f"({in_a_line(error)}); give another with chat_template=FILE",
            ) from error

    def _turn(self, turn: Turn) -> Turn:
        """A message with its content as the template needs it: a list or one text."""
        items, role = turn["content"], turn["role"]
        if any(item["type"] != "text" for item in items):
            return turn
        if role not in self._plain:
            # with plain texts only, a list would fail or be written as a literal
            takes_lists = self._writes_content(role, _items(_MARK))
            self._plain[role] = not takes_lists and self._writes_content(role, _MARK)
        if not self._plain[role]:
            return turn
        return {"role": role, "content": "".join(item["text"] for item in items)}

    def _writes_content(self, role: str, content: Any) -> bool:
        """True if the template writes the words of ``content``, and does not write a
        list as a literal."""
        turn: Turn = {"role": role, "content": content}
        turns = [turn]
        if role in ("system", "assistant"):
            question = self._turn({"role": "user", "content": _items("?")})
            turns = [turn, question]
            if role == "assistant":
                turns = [question, turn, question]
        try:
            text = self._rendered(turns)
        except RowError:
            return False
        return _MARK in text and not _LISTED.search(text)

    def _fault(self, turns: Sequence[Turn]) -> tuple[str, str]:
        """What the template drops, and a warning about what it moves, in conversations
        of this shape. Tested once for each shape."""
        roles = [turn["role"] for turn in turns]
        kinds = [tuple(item["type"] for item in turn["content"]) for turn in turns]
        shape = tuple(zip(roles, kinds, strict=True))
        if shape not in self._faults:
            self._faults[shape] = self._test(shape)
        return self._faults[shape]

    def _test(self, shape: Shape) -> tuple[str, str]:
        whole = self._render_turns(_example(shape))
        dropped: list[str] = []
        note = ""
        texts = 0
        for turn, (role, kinds) in enumerate(shape):
            for item, kind in enumerate(kinds):
                try:
                    reduced = self._render_turns(_example(shape, without=(turn, item)))
                except RowError:  # it fails without the part, so it reads the part
                    reduced = ""
                if reduced == whole:
                    dropped.append(_part_name(role, kinds, item))
                elif kind == "text":
                    texts += role != "system"
                elif (
                    reduced
                    and not note
                    and _texts_before_change(whole, reduced) != texts
                ):
                    part = _part_name(role, kinds, item)
                    note = f"the model's chat template moves {part} to another place"
        return " and ".join(dropped), note


def _items(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def _example(
    shape: Shape,
    without: tuple[int, int] = (-1, -1),
) -> list[Turn]:
    """A conversation of a shape with marks as texts, without one of its parts. A
    removed text becomes empty."""
    turns: list[Turn] = []
    marks = 0
    for turn, (role, kinds) in enumerate(shape):
        items: list[dict[str, Any]] = []
        for item, kind in enumerate(kinds):
            if kind == "text":
                mark = (_SYSTEM_MARK if role == "system" else _MARK).format(marks)
                items.append(
                    {"type": "text", "text": "" if (turn, item) == without else mark}
                )
                marks += 1
            elif (turn, item) != without:
                items.append({"type": kind, kind: None})
        turns.append({"role": role, "content": items or _items("")})
    return turns


def _texts_before_change(whole: str, reduced: str) -> int:
    """The number of texts, without system messages, before the first difference."""
    position, end = 0, min(len(whole), len(reduced))
    while position < end and whole[position] == reduced[position]:
        position += 1
    return len(_MARKS.findall(whole, 0, position))


def _part_name(
    role: str,
    kinds: Sequence[str],
    item: int,
) -> str:
    """A part's name, such as ``the system message`` or ``text 2 of the user
    message``."""
    alike = [place for place, kind in enumerate(kinds) if kind == kinds[item]]
    if kinds[item] == "text" and len(kinds) == 1:
        return f"the {role} message"
    name = f"the {kinds[item]}"
    if len(alike) > 1:
        name = f"{kinds[item]} {alike.index(item) + 1}"
    return f"{name} of the {role} message"


def _listed(text: str, turns: Sequence[Turn]) -> bool:
    """True if a list of items was written as a literal that no message holds."""
    if not _LISTED.search(text):
        return False
    for turn in turns:
        for item in turn["content"]:
            if item["type"] == "text" and _LISTED.search(item["text"]):
                return False
    return True


def _missing_words(turns: Sequence[Turn], text: str) -> str:
    """A description of the words that the text lacks or has in another order; empty if
    all are there. A system message may be anywhere, because some templates write it
    before the last question."""
    position = 0
    for turn in turns:
        start = 0 if turn["role"] == "system" else position
        for item in turn["content"]:
            for word in item["text"].split() if item["type"] == "text" else ():
                offset = text.find(word, start)
                if offset < 0:
                    return (
                        f"words of the {turn['role']} message (such as {word[:40]!r})"
                    )
                start = offset + len(word)
        position = position if turn["role"] == "system" else start
    return ""


def template_of(
    processor: Any, files: ModelFiles, arguments: Mapping[str, Any]
) -> ChatTemplate:
    """The chat template of a processor or tokenizer, with the user's ``arguments``.

    Raises UsageError for a model without a template, and for arguments that the
    template does not read.
    """
    source = ""
    for holder in (processor, tokenizer_of(processor)):
        template = getattr(holder, "chat_template", None)
        if isinstance(template, Mapping):
            # of several named templates, the one for plain conversations
            template = template.get("default")
        source = source or str(template or "")
    if not source:
        raise UsageError(
            f"{files.name} has no chat template; give one with chat_template=FILE, or "
            "choose an instruct model, which usually has one"
        )
    for name in arguments:
        if name in _RESERVED_ARGUMENTS or not re.search(
            rf"\b{re.escape(name)}\b", source
        ):
            raise UsageError(
                f"chat_template_args: the model's chat template does not read "
                f"{name!r}; leave it out"
            )

    def render(source: str, turns: Sequence[Turn]) -> str:
        text: str = processor.apply_chat_template(
            list(turns),
            chat_template=source,
            tokenize=False,
            add_generation_prompt=True,
            **arguments,
        )
        return text

    template = ChatTemplate(partial(render, source))
    if not template.writes_words():
        raise UsageError(
            f"{files.name}: its chat template does not write the words of a user "
            "message; give another one with chat_template=FILE"
        )
    timeless = source.replace("strftime_now(", "raise_exception(")
    if (
        timeless != source
        and not ChatTemplate(partial(render, timeless)).writes_words()
    ):
        _log.warning(
            "%s: its chat template writes today's date into every prompt, so answers "
            "may differ on another day; most such templates take a fixed date as "
            "date_string in chat_template_args",
            files.name,
        )
    return template
