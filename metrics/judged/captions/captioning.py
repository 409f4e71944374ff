"""Captions an answer's media, each once by its content, and writes them in place.

So a judge that reads only text is given the whole of an interleaved answer. Each medium
is one call to the captioner (the run may have one for its kind) with only our prompt
and the medium, so that a caption serves every metric, trial and task with this medium.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Literal

from mmeval.backend import TO_DESCRIBE
from mmeval.media import Interleaved, Part, PartKind, media_part
from mmeval.metrics.judged.captions import released
from mmeval.metrics.judged.captions.captioned import Caption, Captioned
from mmeval.program import (
    Call,
    JudgePrompt,
    Program,
    PromptFile,
    Reply,
    Role,
    Written,
    ask_all,
)
from mmeval.records import HOPELESS, Cause, Response

CaptionPrompt = Annotated[Written, JudgePrompt("kind", "medium", form=False)]
"""The switch with the caption prompt of one kind of medium. It may use ``kind``, and
``medium`` for the place of the medium, which else stands before the words."""
CaptionForm = Literal["standard", "released"]
"""``standard``: ``<<image1: caption>>`` wherever a medium stands; ``released``: the
text that the published script judges, with its oddities
(:mod:`mmeval.metrics.judged.captions.released`)."""
STANDARD: CaptionForm = "standard"
RELEASED: CaptionForm = "released"

MAX_CAPTION_CHARS = 2000
"""The most characters of a caption that are used."""
SAID_ABOVE = "(as above)"
NOTHING_GIVEN = "(nothing was given here)"
NOTHING_READABLE = "(a file that cannot be read was given here)"
NO_CAPTION = "(no caption)"
_EXAMPLE = "A grey square on a white ground, without any text. " * 8
"""A caption that is accepted, with which a dry run goes on."""


def captioned_all(
    answers: Sequence[Interleaved],
    captioner: Role,
    prompts: Mapping[PartKind, Written],
    *,
    data: Sequence[Interleaved] = (),
    form: CaptionForm = STANDARD,
) -> Program[list[Captioned]]:
    """Several contents as text, answers first, all captions requested at once; a medium
    in two is captioned once.

    Text stays as it is and code is kept verbatim; hidden reasoning is left out. A
    placeholder without a medium, and a file that is damaged, are replaced by a
    note. ``prompts`` are the switches by kind, as a metric is given them. Raises
    PromptError for a prompt that was not bound, or cannot be rendered with a medium.

    ``data`` are contents of the data set, such as a reference. Their faults are not the
    answer's: a placeholder without a medium stays as it is written, with the caption
    that the data may have, and a file that cannot be decoded is lost.
    """
    each: list[tuple[Interleaved, list[Part], list[Part | None]]] = []
    wanted: dict[tuple[PartKind, str], Part] = {}
    for content in (*answers, *data):
        parts = _labelled(content)
        to_caption = _to_caption(content, parts, form)
        each.append((content, parts, to_caption))
        for part in filter(None, to_caption):
            wanted[_identity(part)] = part

    replies: Sequence[Reply] = []
    if wanted:
        calls = [_call(captioner, part, prompts) for part in wanted.values()]
        replies = yield from ask_all(calls)
    said = dict(zip(wanted, replies, strict=True))

    made: list[Captioned] = []
    for content, parts, to_caption in each:
        captions: list[Caption | None] = []
        for part, captioned in zip(parts, to_caption, strict=True):
            reply = said[_identity(captioned)] if captioned else None
            caption = _caption(part, reply, form)
            if form == STANDARD and len(made) >= len(answers):
                caption = _of_data(part, caption)
            captions.append(caption)
        # Two items may have one label: each counts, but an item that is named twice is
        # listed once.
        listed = tuple(dict.fromkeys(filter(None, captions)))
        if form == RELEASED:
            texts = {caption.label: caption.text for caption in listed}
            text = released.marked_up(content.text, texts)
        else:
            text = _in_turn(parts, captions)
        made.append(Captioned(text, listed))
    return made


def _in_turn(parts: Sequence[Part], captions: Sequence[Caption | None]) -> str:
    """The text of the parts. A caption is written once for its item, since repeated
    tags would make the text many times longer."""
    pieces: list[str] = []
    written: set[Caption] = set()
    for part, caption in zip(parts, captions, strict=True):
        if caption in written:
            pieces.append(_written(part, replace(caption, text=SAID_ABOVE)))
            continue
        pieces.append(_written(part, caption))
        if caption is not None and caption.text:
            written.add(caption)
    return "".join(pieces)


def _labelled(content: Interleaved) -> list[Part]:
    """The parts, media labelled; an item without a placeholder gets a free number."""
    taken = {part.label for part in content.parts}
    numbers: Counter[PartKind] = Counter()
    named: list[Part] = []
    for part in content.parts:
        label = part.label
        if part.kind not in ("text", "reasoning") and not label[-1:].isdigit():
            numbers[part.kind] += 1
            while f"{part.kind}{numbers[part.kind]}" in taken:
                numbers[part.kind] += 1
            label = f"{part.kind}{numbers[part.kind]}"
        named.append(replace(part, label=label))
    return named


def _identity(part: Part) -> tuple[PartKind, str]:
    """A caption's key: equal bytes are captioned once for each kind they are given
    as."""
    return _kind(part), "" if part.media is None else part.media.sha256


def _kind(part: Part) -> PartKind:
    """The kind that decides prompt and captioner: a file of code is a document."""
    if part.kind == "code":
        return "document"
    return part.kind


def _to_caption(
    content: Interleaved, parts: Sequence[Part], form: CaptionForm
) -> list[Part | None]:
    """The parts, with None for each that needs no caption."""
    tags = released.tags(content.text) if form == RELEASED else frozenset()
    wanted: list[Part | None] = []
    for part in parts:
        is_wanted = part.media is not None
        if is_wanted and form == RELEASED:
            is_wanted = part.label in tags and not released.is_not_found(part)
        wanted.append(part if is_wanted else None)
    return wanted


def _call(
    captioner: Role,
    part: Part,
    prompts: Mapping[PartKind, Written],
) -> Call:
    """The request for a medium: only prompt and medium, nothing identifies the
    answer."""
    kind = _kind(part)
    assert part.media is not None  # checked by the caller
    sent_as = kind
    if kind in ("document", "3d") and part.media.kind == "image":
        # Pictures of a document, and textures of a model, are pictures.
        sent_as = "image"
    shown = Interleaved((media_part(part.media, sent_as),))
    messages = PromptFile.of(prompts[kind]).messages({"kind": kind, "medium": shown})
    if not any(message.content.media() for message in messages):
        # The prompt does not place the medium, which then stands before the words.
        *before, last = messages
        content = Interleaved((*shown.parts, *last.content.parts))
        messages = (*before, replace(last, content=content))
    call = captioner.variant(kind).send(messages, accept=_fault, convert=TO_DESCRIBE)
    return replace(call, example=_EXAMPLE)


def _fault(response: Response) -> str:
    if response.text.strip():
        return ""
    return "the caption is empty"


def _caption(
    part: Part,
    reply: Reply | None,
    form: CaptionForm,
) -> Caption | None:
    """The caption of an item; None for a part that is not an item."""
    is_code_in_text = part.kind == "code" and part.raw == part.text
    if part.kind in ("text", "reasoning") or is_code_in_text:
        return None
    if form == RELEASED:
        return _released(part, reply)
    bare = Caption(part.label, part.kind)
    if part.text is not None:
        return replace(bare, text=part.text)
    if part.media is None:
        return replace(bare, remarks=("a placeholder without a medium",))
    assert reply is not None  # every medium was requested
    return _told(bare, reply)


def _told(bare: Caption, reply: Reply) -> Caption:
    """The caption in the captioner's reply."""
    error = reply.response.error
    if error is None:
        # Changed so that it cannot be read as the placeholder of another item.
        text = re.sub(r"(?<=<)(?=<)|(?<=>)(?=>)", " ", reply.text.strip())
        remarks = reply.response.warnings
        if len(text) > MAX_CAPTION_CHARS:
            cut = f"cut after {MAX_CAPTION_CHARS:,} of {len(text):,} characters"
            remarks = (*remarks, cut)
        return replace(bare, text=text[:MAX_CAPTION_CHARS], remarks=tuple(remarks))
    if error.kind == "bad_media":
        return replace(bare, remarks=(error.message,))
    cause: Cause = "lost"
    if error.kind == "refused":
        cause = "refused"
    elif error.kind in HOPELESS:
        cause = "final"
    return replace(bare, lost=f"{error.kind}: {error.message}", cause=cause)


def _of_data(part: Part, caption: Caption | None) -> Caption | None:
    """The caption of a data set item; an unreadable one is not the answer's fault."""
    if caption is None or caption.text or caption.lost:
        return caption
    if part.media is None:
        return None  # it stays as it is written
    lost = f"{'; '.join(caption.remarks)}; repair the data"
    return replace(caption, lost=lost, cause="final", remarks=())


def _released(part: Part, reply: Reply | None) -> Caption | None:
    """The caption as in the published script, where a failed caption is an empty one.
    One of a medium that could not be sent is lost, as nobody has looked at it."""
    bare = Caption(part.label, part.kind)
    if released.is_not_found(part):
        return replace(bare, text=released.not_found(part.label))
    if reply is None:
        return None  # a tag that stays, or an item without a tag
    error = reply.response.error
    if error is None:
        words = released.useful_words(reply.text)
        return replace(bare, text=words, remarks=reply.response.warnings)
    if error.kind == "unsupported":
        return _told(bare, reply)
    remark = f"the caption failed ({error.kind}: {error.message}) and is empty"
    return replace(bare, remarks=(remark,))


def _written(part: Part, caption: Caption | None) -> str:
    """The text of a part in the standard form."""
    if part.kind == "reasoning":
        return ""
    is_verbatim = part.text is not None and part.raw == part.text
    if part.kind in ("text", "code") and is_verbatim:
        return part.raw
    if caption is None:
        return part.raw
    if caption.text or part.text is not None:
        words = caption.text
    elif caption.lost:
        words = NO_CAPTION
    elif part.media is None:
        words = NOTHING_GIVEN
    else:
        words = NOTHING_READABLE
    said = f"<<{caption.label}: {words}>>"
    if part.raw:
        return said
    return f"\n{said}\n"
