"""Captions an answer's media, each once by its content, and writes them in place.

So a judge that reads only text is given the whole of an interleaved answer. Each medium
is one call to the captioner (the run may have one for its kind) with only our prompt
and the medium, so that a caption serves every metric, trial and task with this medium.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Literal

from mmeval.backend import TO_DESCRIBE
from mmeval.media import Interleaved, Media, Part, PartKind, media_part
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
from mmeval.records import HOPELESS, Cause, Message, Response

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
    contents = [*answers, *data]
    each = [(content, _labelled(content)) for content in contents]
    wanted = {
        _identity(part): part
        for content, parts in each
        for part in _to_caption(content, parts, form)
        if part
    }
    replies: Sequence[Reply] = []
    if wanted:
        replies = yield from ask_all(
            [_call(captioner, part, prompts) for part in wanted.values()]
        )
    said = dict(zip(wanted, replies, strict=True))
    return [
        _put_together(content, parts, said, form, is_data=number >= len(answers))
        for number, (content, parts) in enumerate(each)
    ]


def _put_together(
    content: Interleaved,
    parts: Sequence[Part],
    said: Mapping[tuple[PartKind, str], Reply],
    form: CaptionForm,
    *,
    is_data: bool,
) -> Captioned:
    replies = [
        said[_identity(part)] if part else None
        for part in _to_caption(content, parts, form)
    ]
    found = [
        (part, _caption(part, reply, form))
        for part, reply in zip(parts, replies, strict=True)
    ]
    if is_data and form == STANDARD:
        found = [(part, _of_data(part, caption)) for part, caption in found]
    # Two items may have one label: each counts, but an item that is named twice is
    # listed once.
    listed = tuple(
        dict.fromkeys(caption for _, caption in found if caption is not None)
    )
    if form == RELEASED:
        return Captioned(
            released.marked_up(content.text, {one.label: one.text for one in listed}),
            listed,
        )
    return Captioned("".join(_in_turn(found)), listed)


def _in_turn(found: Sequence[tuple[Part, Caption | None]]) -> Iterator[str]:
    """The text of each part. A caption is written once for its item, since repeated
    tags would make the text many times longer."""
    told: set[Caption] = set()
    for part, caption in found:
        if caption is None or not caption.text:
            yield _written(part, caption)
            continue
        yield _written(
            part, replace(caption, text=SAID_ABOVE) if caption in told else caption
        )
        told.add(caption)


def _labelled(content: Interleaved) -> list[Part]:
    """The parts, media labelled; an item without a placeholder gets a free number."""
    taken = {part.label for part in content.parts}
    names = {part.kind: _names(part.kind) for part in content.parts}
    named: list[Part] = []
    for part in content.parts:
        label = part.label
        if part.kind not in ("text", "reasoning") and not label[-1:].isdigit():
            label = next(name for name in names[part.kind] if name not in taken)
        named.append(replace(part, label=label))
    return named


def _names(kind: PartKind) -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"{kind}{number}"


def _identity(part: Part) -> tuple[PartKind, str]:
    """A caption's key: equal bytes are captioned once for each kind they are given
    as."""
    return _kind(part), "" if part.media is None else part.media.sha256


def _kind(part: Part) -> PartKind:
    """The kind that decides prompt and captioner: a file of code is a document."""
    return "document" if part.kind == "code" else part.kind


def _to_caption(
    content: Interleaved, parts: Sequence[Part], form: CaptionForm
) -> list[Part | None]:
    """The parts, with None for each that needs no caption."""
    if form == STANDARD:
        return [part if part.media is not None else None for part in parts]
    tags = released.tags(content.text)
    return [
        part
        if part.media is not None
        and part.label in tags
        and not released.is_not_found(part)
        else None
        for part in parts
    ]


def _call(captioner: Role, part: Part, prompts: Mapping[PartKind, Written]) -> Call:
    """The request for a medium: only prompt and medium, nothing identifies the
    answer."""
    kind = _kind(part)
    assert part.media is not None  # checked by the caller
    shown = Interleaved((media_part(part.media, _sent_as(kind, part.media)),))
    messages = PromptFile.of(prompts[kind]).messages({"kind": kind, "medium": shown})
    call = captioner.variant(kind).send(
        _with_medium(messages, shown), accept=_fault, convert=TO_DESCRIBE
    )
    return replace(call, example=_EXAMPLE)


def _sent_as(kind: PartKind, media: Media) -> PartKind:
    """Pictures of a document, and textures of a model, are pictures."""
    return "image" if kind in ("document", "3d") and media.kind == "image" else kind


def _with_medium(
    messages: tuple[Message, ...], shown: Interleaved
) -> tuple[Message, ...]:
    """A prompt's messages with the medium first, unless the prompt places it."""
    if any(message.content.media() for message in messages):
        return messages
    *before, last = messages
    return (
        *before,
        replace(last, content=Interleaved((*shown.parts, *last.content.parts))),
    )


def _fault(response: Response) -> str:
    return "" if response.text.strip() else "the caption is empty"


def _caption(part: Part, reply: Reply | None, form: CaptionForm) -> Caption | None:
    """The caption of an item; None for a part that is not an item."""
    if part.kind in ("text", "reasoning") or (
        part.kind == "code" and part.raw == part.text
    ):
        return None
    bare = Caption(part.label, part.kind)
    if form == RELEASED:
        return _released(part, reply)
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
        text, remarks = _harmless(reply.text.strip()), list(reply.response.warnings)
        if len(text) > MAX_CAPTION_CHARS:
            remarks.append(
                f"cut after {MAX_CAPTION_CHARS:,} of {len(text):,} characters"
            )
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
    return replace(
        caption,
        lost=f"{'; '.join(caption.remarks)}; repair the data",
        cause="final",
        remarks=(),
    )


def _released(part: Part, reply: Reply | None) -> Caption | None:
    """The caption as in the published script, where a failed caption is an empty one.
    One of a medium that could not be sent is lost, as nobody has looked at it."""
    bare = Caption(part.label, part.kind)
    if released.is_not_found(part):
        return replace(bare, text=released.not_found(part.label))
    if reply is None:
        return None  # a tag that stays, or an item without a tag
    error = reply.response.error
    if error is not None and error.kind == "unsupported":
        return _told(bare, reply)
    if error is not None:
        return replace(
            bare,
            remarks=(
                f"the caption failed ({error.kind}: {error.message}) and is empty",
            ),
        )
    return replace(
        bare, text=released.useful_words(reply.text), remarks=reply.response.warnings
    )


def _harmless(text: str) -> str:
    """A caption changed so that it cannot be read as the placeholder of another
    item."""
    return re.sub(r"(?<=<)(?=<)|(?<=>)(?=>)", " ", text)


def _written(part: Part, caption: Caption | None) -> str:
    """The text of a part in the standard form."""
    if part.kind == "reasoning":
        return ""
    if (
        part.kind in ("text", "code")
        and part.text is not None
        and part.raw == part.text
    ):
        return part.text
    if caption is None:
        return part.raw
    said = f"<<{caption.label}: {_body(part, caption)}>>"
    return said if part.raw else f"\n{said}\n"


def _body(part: Part, caption: Caption) -> str:
    if caption.text or part.text is not None:
        return caption.text
    if caption.lost:
        return NO_CAPTION
    return NOTHING_GIVEN if part.media is None else NOTHING_READABLE
