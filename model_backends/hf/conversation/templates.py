"""Writes a conversation with a model's chat template, and checks that it is complete.

A template is a program that comes with the model. Many templates drop parts that they
do not support, without a message (a system message, a picture in an answer, a second
text). Therefore each conversation is checked: its words must occur in the text in
order, and removing any part must change the text.
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
"""A message with ``role`` and ``content``.

The content is a list of items, or a string for some templates.
"""
Render: TypeAlias = Callable[[Sequence[Turn]], str]
Shape: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""The shape of a conversation: the role and the kinds of items of each message."""

_MARK = "mmevalmark{}x"
"""The text of a message that tests a template.

Templates do not write this word themselves.
"""
_MARKS = re.compile(_MARK.format("[0-9]+"))
_SYSTEM_MARK = "mmevalsystem{}x"
"""The text of a system message that tests a template.

It differs from other marks, because some templates write the system message before the
last question.
"""
_RESERVED_ARGUMENTS = ("messages", "add_generation_prompt")
"""Template variables that the user cannot set."""
_LISTED = re.compile(r"""\{["']type["'] *: *["'](text|image|audio|video)["']""")
"""The output of a template that writes a list of items as a literal."""


class ChatTemplate:
    """A template and its known faults.

    ``render`` writes a complete conversation and the opening of the answer.
    """

    def __init__(self, render: Render) -> None:
        self._render = render
        self._plain: dict[str, bool] = {}
        self._faults: dict[Shape, tuple[str, str]] = {}

    def text(self, chat: Chat) -> tuple[str, tuple[str, ...]]:
        """Returns the text of a conversation, and warnings.

        Raises RowError ``unsupported`` if the template refuses the conversation or
        drops parts of it.
        """
        text = self._render_turns(chat.messages)
        if _listed(text, chat.messages):
            raise RowError(
                "unsupported",
                "the model's chat template supports only plain texts, not this "
                "conversation; name a template for lists of items with "
                "chat_template=FILE",
            )
        dropped, moved = self._fault(chat.messages)
        dropped = dropped or _missing_words(chat.messages, text)
        if dropped:
            raise RowError(
                "unsupported",
                f"the model's chat template drops {dropped}; name a template that "
                "keeps it with chat_template=FILE",
            )
        return text, (moved,) if moved else ()

    def writes_words(self) -> bool:
        """Returns True if the template writes the words of a user message."""
        return self._writes_content("user", _items(_MARK)) or self._writes_content(
            "user", _MARK
        )

    def _render_turns(self, turns: Sequence[Turn]) -> str:
        return self._rendered([self._turn(turn) for turn in turns])

    def _rendered(self, turns: Sequence[Turn]) -> str:
        """Renders the turns.

        Raises RowError ``unsupported`` if the template refuses them.
        """
        try:
            return self._render(turns)
        # the template is a program of the model and may raise any error
        except (Exception, SystemExit) as error:
            raise RowError(
                "unsupported",
                "the model's chat template refuses this conversation "
                f"({in_a_line(error)}); name another one with chat_template=FILE",
            ) from error

    def _turn(self, turn: Turn) -> Turn:
        """Returns a message with content that the template accepts.

        The content is a list of items or a string.
        """
        items, role = turn["content"], turn["role"]
        if any(item["type"] != "text" for item in items):
            return turn
        if role not in self._plain:
            # a template for plain texts fails on a list, or writes it as a literal
            takes_lists = self._writes_content(role, _items(_MARK))
            self._plain[role] = not takes_lists and self._writes_content(role, _MARK)
        if not self._plain[role]:
            return turn
        return {"role": role, "content": "".join(item["text"] for item in items)}

    def _writes_content(self, role: str, content: Any) -> bool:
        """Returns True if the template writes the words of ``content``.

        Returns False if the template writes a list of items as a literal.
        """
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
        """Returns the part that the template drops, and a warning about a moved part.

        Each shape of a conversation is tested only once.
        """
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
                except RowError:
                    # the template fails without the part, so it does read the part
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
                    note = f"the model's chat template moves {part} to another position"
        return " and ".join(dropped), note


def _items(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def _example(
    shape: Shape,
    without: tuple[int, int] = (-1, -1),
) -> list[Turn]:
    """Returns a conversation of the given shape, with marks as its texts.

    The part at ``without``, a message and an item, is removed. A removed text becomes
    empty.
    """
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
    """Returns the number of texts before the first difference.

    Texts of system messages are not counted.
    """
    position, end = 0, min(len(whole), len(reduced))
    while position < end and whole[position] == reduced[position]:
        position += 1
    return len(_MARKS.findall(whole, 0, position))


def _part_name(
    role: str,
    kinds: Sequence[str],
    item: int,
) -> str:
    """Returns a part's name, such as ``text 2 of the user message``."""
    alike = [place for place, kind in enumerate(kinds) if kind == kinds[item]]
    if kinds[item] == "text" and len(kinds) == 1:
        return f"the {role} message"
    name = f"the {kinds[item]}"
    if len(alike) > 1:
        name = f"{kinds[item]} {alike.index(item) + 1}"
    return f"{name} of the {role} message"


def _listed(text: str, turns: Sequence[Turn]) -> bool:
    """Returns True if a list of items was written as a literal.

    A literal that was already in the text of a message is ignored.
    """
    if not _LISTED.search(text):
        return False
    for turn in turns:
        for item in turn["content"]:
            if item["type"] == "text" and _LISTED.search(item["text"]):
                return False
    return True


def _missing_words(turns: Sequence[Turn], text: str) -> str:
    """Describes the words that the text lacks or contains in another order.

    Returns an empty string if the text contains all words in order. A system message
    may be anywhere, because some templates write it before the last question.
    """
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
    """Returns the chat template of a processor or tokenizer, with user ``arguments``.

    Raises UsageError for a model without a template, and for arguments that the
    template does not read.
    """
    source = ""
    for holder in (processor, tokenizer_of(processor)):
        template = getattr(holder, "chat_template", None)
        if isinstance(template, Mapping):
            # the name of the template for plain conversations, if there are several
            template = template.get("default")
        source = source or str(template or "")
    if not source:
        raise UsageError(
            f"{files.name} has no chat template; name one with chat_template=FILE, or "
            "choose an instruct model, which usually has a template"
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
            f"{files.name}: the chat template does not write the words of a user "
            "message; name another one with chat_template=FILE"
        )
    timeless = source.replace("strftime_now(", "raise_exception(")
    if (
        timeless != source
        and not ChatTemplate(partial(render, timeless)).writes_words()
    ):
        _log.warning(
            "%s: the chat template writes today's date into every prompt, so answers "
            "may differ on another day; for most such templates, chat_template_args "
            "can set a fixed date as date_string",
            files.name,
        )
    return template
