"""Chat templates: write a conversation as the model's text, checked for omissions.

A template is a program that comes with the model. Many silently drop parts that they
were not written for (a system message, a picture in an answer, the second text), so
each conversation is checked: its words must be in the text in order, and leaving out
any one part must change the text.
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
"""A message with ``role`` and ``content``: a list of items, or for some templates a
text."""
Render: TypeAlias = Callable[[Sequence[Turn]], str]
Shape: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""Of a conversation: each message's role and its kinds of item."""

_MARK = "mmevalmark{}x"
"""The text in a trial of a template: a word that no template writes."""
_MARKS = re.compile(_MARK.format("[0-9]+"))
_SYSTEM_MARK = "mmevalsystem{}x"
"""The text of a system message in a trial; some templates write it before the last
question."""
_OURS = ("messages", "add_generation_prompt")
"""Values that every template reads, which the user does not set."""
_LISTED = re.compile(r"""\{["']type["'] *: *["'](text|image|audio|video)["']""")
"""The trace of a template that writes a list of items as a literal."""


class ChatTemplate:
    """A template with its faults.
    ``render`` writes a whole conversation with the opening of the answer."""

    def __init__(self, render: Render) -> None:
        self._render = render
        self._plain: dict[str, bool] = {}
        self._faults: dict[Shape, tuple[str, str]] = {}

    def text(self, chat: Chat) -> tuple[str, tuple[str, ...]]:
        """The text of a conversation, and warnings.

        Raises RowError ``unsupported`` for one that the template refuses or writes
        incompletely.
        """
        text = self._written(chat.messages)
        if _listed(text, chat.messages):
            raise RowError(
                "unsupported",
                "the model's chat template is made for plain texts, and cannot write "
                "this conversation; give one that "
                "takes lists of items with chat_template=FILE",
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

    def takes_words(self) -> bool:
        """Whether it writes at least the words of a user message."""
        return self._tells("user", _items(_MARK)) or self._tells("user", _MARK)

    def _written(self, turns: Sequence[Turn]) -> str:
        return self._rendered([self._turn(turn) for turn in turns])

    def _rendered(self, turns: Sequence[Turn]) -> str:
        """Raises RowError ``unsupported`` where the template refuses the turns."""
        try:
            return self._render(turns)
        # the template is a program of the model's
        except (Exception, SystemExit) as error:
            raise RowError(
                "unsupported",
                "the model's chat template refuses this conversation "
                f"({in_a_line(error)}); give another with chat_template=FILE",
            ) from error

    def _turn(self, turn: Turn) -> Turn:
        """The message with content in the template's form: a list of items, or one
        text."""
        items, role = turn["content"], turn["role"]
        if any(item["type"] != "text" for item in items):
            return turn
        if role not in self._plain:
            # a list would fail or be a literal
            takes_lists = self._tells(role, _items(_MARK))
            self._plain[role] = not takes_lists and self._tells(role, _MARK)
        if not self._plain[role]:
            return turn
        return {"role": role, "content": "".join(item["text"] for item in items)}

    def _tells(self, role: str, content: Any) -> bool:
        """Whether the template writes a message's words, but not their list as a
        literal."""
        tried: Turn = {"role": role, "content": content}
        turns = [tried]
        if role in ("system", "assistant"):
            question = self._turn({"role": "user", "content": _items("?")})
            turns = [tried, question]
            if role == "assistant":
                turns = [question, tried, question]
        try:
            text = self._rendered(turns)
        except RowError:
            return False
        return _MARK in text and not _LISTED.search(text)

    def _fault(self, turns: Sequence[Turn]) -> tuple[str, str]:
        """What the template drops or moves in such a conversation; found once per
        shape."""
        roles = [turn["role"] for turn in turns]
        kinds = [tuple(item["type"] for item in turn["content"]) for turn in turns]
        shape = tuple(zip(roles, kinds, strict=True))
        if shape not in self._faults:
            self._faults[shape] = self._tried(shape)
        return self._faults[shape]

    def _tried(self, shape: Shape) -> tuple[str, str]:
        whole = self._written(_example(shape))
        gone: list[str] = []
        note = ""
        texts = 0
        for turn, (role, kinds) in enumerate(shape):
            for item, kind in enumerate(kinds):
                try:
                    less = self._written(_example(shape, without=(turn, item)))
                except RowError:  # it fails without this part, so it reads it
                    less = ""
                if less == whole:
                    gone.append(_part_name(role, kinds, item))
                elif kind == "text":
                    texts += role != "system"
                elif less and not note and _where(whole, less) != texts:
                    part = _part_name(role, kinds, item)
                    note = (
                        f"the model's chat template puts {part} in another place than "
                        "the prompt does"
                    )
        return " and ".join(gone), note


def _items(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def _example(
    shape: Shape,
    without: tuple[int, int] = (-1, -1),
) -> list[Turn]:
    """A conversation of a shape with marks for its texts, without one of its parts.
    A text that is left out is empty instead."""
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


def _where(whole: str, less: str) -> int:
    """The number of texts, except system messages, before the place of a loss."""
    at, end = 0, min(len(whole), len(less))
    while at < end and whole[at] == less[at]:
        at += 1
    return len(_MARKS.findall(whole, 0, at))


def _part_name(
    role: str,
    kinds: Sequence[str],
    item: int,
) -> str:
    """A part's name: ``the system message``, ``text 2 of the user message``."""
    alike = [place for place, kind in enumerate(kinds) if kind == kinds[item]]
    if kinds[item] == "text" and len(kinds) == 1:
        return f"the {role} message"
    name = f"the {kinds[item]}"
    if len(alike) > 1:
        name = f"{kinds[item]} {alike.index(item) + 1}"
    return f"{name} of the {role} message"


def _listed(text: str, turns: Sequence[Turn]) -> bool:
    """Whether a list of items was written as a literal that is not in the words."""
    if not _LISTED.search(text):
        return False
    for turn in turns:
        for item in turn["content"]:
            if item["type"] == "text" and _LISTED.search(item["text"]):
                return False
    return True


def _missing_words(turns: Sequence[Turn], text: str) -> str:
    """The words that are missing in the text, in order; empty when all are there. A
    system message may be anywhere: some templates write it before the last question."""
    at = 0
    for turn in turns:
        here = 0 if turn["role"] == "system" else at
        for item in turn["content"]:
            for word in item["text"].split() if item["type"] == "text" else ():
                found = text.find(word, here)
                if found < 0:
                    return (
                        f"words of the {turn['role']} message (such as {word[:40]!r})"
                    )
                here = found + len(word)
        at = at if turn["role"] == "system" else here
    return ""


def template_of(
    processor: Any, files: ModelFiles, arguments: Mapping[str, Any]
) -> ChatTemplate:
    """The chat template of a processor or tokenizer, with the user's values for it.

    Raises UsageError for a model without a template, and for values that the template
    does not read.
    """
    source = ""
    for holder in (processor, tokenizer_of(processor)):
        template = getattr(holder, "chat_template", None)
        if isinstance(template, Mapping):
            # the one for plain conversations
            template = template.get("default")
        source = source or str(template or "")
    if not source:
        raise UsageError(
            f"{files.name}: the model has no chat template, so nothing says how a "
            "conversation is written for it; give "
            "one with chat_template=FILE (a base model answers badly, an instruct "
            "model mostly brings its own)"
        )
    for name in arguments:
        if name in _OURS or not re.search(rf"\b{re.escape(name)}\b", source):
            raise UsageError(
                "chat_template_args: the model's chat template reads no value "
                f"{name!r} of a user's"
            )

    def render(source: str, turns: Sequence[Turn]) -> str:
        written: str = processor.apply_chat_template(
            list(turns),
            chat_template=source,
            tokenize=False,
            add_generation_prompt=True,
            **arguments,
        )
        return written

    template = ChatTemplate(partial(render, source))
    if not template.takes_words():
        raise UsageError(
            f"{files.name}: its chat template does not write the words of a user "
            "message, or is none; give another as "
            "chat_template=FILE"
        )
    timeless = source.replace("strftime_now(", "raise_exception(")
    if timeless != source and not ChatTemplate(partial(render, timeless)).takes_words():
        _log.warning(
            "%s: its chat template writes today's date into every prompt, so that "
            "answers of another day may differ; "
            "most such templates take a date of yours, as the value date_string of "
            "chat_template_args",
            files.name,
        )
    return template
