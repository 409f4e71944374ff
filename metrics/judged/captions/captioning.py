"""Captions an answer's media and writes the captions in place of the media.

A judge that only reads text can then judge an interleaved answer. Each medium takes one
call to the captioner (a run may use one captioner per kind of medium). The call
contains only mmeval's prompt and the medium. All metrics, trials and tasks can
therefore share the caption.
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
from mmeval.metrics.judged.captions.captioned import CaptionedContent, MediumCaption
from mmeval.metrics.judged.material import Material
from mmeval.program import (
    Call,
    JudgePrompt,
    Program,
    PromptFile,
    PromptValue,
    Reply,
    Role,
    ask_all,
)
from mmeval.records import HOPELESS, Cause, Response

CaptionPrompt = Annotated[
    PromptValue,
    JudgePrompt("kind", "medium", "as_released", *released.VALUES, form=False),
]
"""A switch that selects the caption prompt for one kind of medium. The prompt may use
``kind``, and ``medium`` for the position of the medium. By default the medium precedes
the words. ``as_released`` is true for captions of the form ``released``, which say what
those of the published script say."""
CaptionForm = Literal["standard", "released"]
"""How captions are written. ``standard`` writes ``<<image1: caption>>`` in place of a
medium. ``released`` writes the text that the published script judges, with its oddities
(:mod:`mmeval.metrics.judged.captions.released`)."""
STANDARD: CaptionForm = "standard"
RELEASED: CaptionForm = "released"

MAX_CAPTION_CHARS = 2000
"""Maximum number of characters of a caption."""
AS_ABOVE = "(as above)"
NOTHING_GIVEN = "(nothing was given here)"
NOTHING_READABLE = "(a file that cannot be read was given here)"
NO_CAPTION = "(no caption)"
_EXAMPLE = "A grey square on a white ground, without any text. " * 8
"""An acceptable caption, for a dry run."""


def caption_contents(
    answers: Sequence[Interleaved],
    captioner: Role,
    prompts: Mapping[PartKind, PromptValue],
    *,
    data: Sequence[Interleaved] = (),
    form: CaptionForm = STANDARD,
    subject: str = "",
) -> Program[list[CaptionedContent]]:
    """Captions contents and returns them, the answers before ``data``.

    All captions are requested at the same time.

    Text and code are kept verbatim, and hidden reasoning is left out. A medium in two
    contents is captioned once. A note replaces a placeholder without a medium, and also
    a damaged file. ``prompts`` maps each kind to the metric's switch with the prompt.
    Raises PromptError for a prompt that was not bound, or that cannot be rendered with
    a medium. ``subject`` is the domain of the sample, for a released prompt.

    ``data`` are contents of the data set, such as a reference. The answer is not at
    fault if these contents are damaged. A placeholder without a medium is therefore
    kept unchanged, with the data's own caption if there is one. The caption of a file
    that cannot be decoded is lost.
    """
    contents: list[tuple[Interleaved, list[Part], list[Part | None]]] = []
    media: dict[tuple[PartKind, str], released.Captioned] = {}
    for content in (*answers, *data):
        parts = _labelled(content)
        to_caption = _to_caption(content, parts, form)
        contents.append((content, parts, to_caption))
        for part in filter(None, to_caption):
            seen = released.Captioned(part, subject, official=form == RELEASED)
            if form == RELEASED:
                seen = replace(seen, answer=content.text)
            media[_identity(part)] = seen

    reply_of: dict[tuple[PartKind, str], Reply] = {}
    if media:
        calls = [_call(captioner, item, prompts, form) for item in media.values()]
        replies = yield from ask_all(calls)
        reply_of = dict(zip(media, replies, strict=True))
    if form == RELEASED:
        reply_of |= yield from _summaries(captioner, reply_of, prompts)

    results: list[CaptionedContent] = []
    for content, parts, to_caption in contents:
        captions: list[MediumCaption | None] = []
        for part, captioned in zip(parts, to_caption, strict=True):
            reply = reply_of[_identity(captioned)] if captioned else None
            caption = _caption(part, reply, form)
            if form == STANDARD and len(results) >= len(answers):
                caption = _of_data(part, caption)
            captions.append(caption)
        # Two items may share a label, and each counts. An item that is named twice is
        # listed once.
        listed = tuple(dict.fromkeys(filter(None, captions)))
        if form == RELEASED:
            texts = {caption.label: caption.text for caption in listed}
            text = released.marked_up(content.text, texts)
        else:
            text = _in_turn(parts, captions)
        results.append(CaptionedContent(text, listed))
    return results


def _in_turn(parts: Sequence[Part], captions: Sequence[MediumCaption | None]) -> str:
    """Returns the text of the parts, with captions.

    The caption of an item is written once, since an answer may repeat a tag many times.
    """
    pieces: list[str] = []
    written: set[MediumCaption] = set()
    for part, caption in zip(parts, captions, strict=True):
        if caption in written:
            pieces.append(_written(part, replace(caption, text=AS_ABOVE)))
            continue
        pieces.append(_written(part, caption))
        if caption is not None and caption.text:
            written.add(caption)
    return "".join(pieces)


def _labelled(content: Interleaved) -> list[Part]:
    """Returns the parts with labels.

    Items without a placeholder get numbers that are free.
    """
    taken = {part.label for part in content.parts}
    numbers: Counter[PartKind] = Counter()
    labelled: list[Part] = []
    for part in content.parts:
        label = part.label
        if part.kind not in ("text", "reasoning") and not label[-1:].isdigit():
            numbers[part.kind] += 1
            while f"{part.kind}{numbers[part.kind]}" in taken:
                numbers[part.kind] += 1
            label = f"{part.kind}{numbers[part.kind]}"
        labelled.append(replace(part, label=label))
    return labelled


def _identity(part: Part) -> tuple[PartKind, str]:
    """Returns the key of a caption.

    Media with equal bytes are captioned once per kind.
    """
    return _kind(part), "" if part.media is None else part.media.sha256


def _kind(part: Part) -> PartKind:
    """Returns the kind that selects the prompt and the captioner.

    A code file is treated as a document.
    """
    if part.kind == "code":
        return "document"
    return part.kind


def _to_caption(
    content: Interleaved, parts: Sequence[Part], form: CaptionForm
) -> list[Part | None]:
    """Returns the parts, with None for each part that does not need a caption."""
    tags = released.tags(content.text) if form == RELEASED else frozenset()
    parts_to_caption: list[Part | None] = []
    for part in parts:
        needs_caption = part.media is not None
        if needs_caption and form == RELEASED:
            needs_caption = part.label in tags and not released.is_not_found(part)
        parts_to_caption.append(part if needs_caption else None)
    return parts_to_caption


def _call(
    captioner: Role,
    captioned: released.Captioned,
    prompts: Mapping[PartKind, PromptValue],
    form: CaptionForm,
) -> Call:
    """Returns the request for a caption.

    The request contains only the prompt and the medium, so that equal media share it.
    """
    part = captioned.part
    kind = _kind(part)
    assert part.media is not None  # checked by the caller
    sent_as = kind
    if kind in ("document", "3d") and part.media.kind == "image":
        # Pictures of a document, and textures of a model, are pictures.
        sent_as = "image"
    shown = Interleaved((media_part(part.media, sent_as),))
    prompt = PromptFile.of(prompts[kind])
    values: Material = {
        "kind": kind,
        "medium": shown,
        "as_released": form == RELEASED,
    }
    if prompt.released:
        values |= captioned.values
    messages = prompt.messages(values)
    has_medium = any(message.content.media() for message in messages)
    is_unseen = bool(prompt.released) and captioned.is_unseen
    if not has_medium and not is_unseen:
        # The prompt has no position for the medium, so the medium precedes the words.
        *before, last = messages
        content = Interleaved((*shown.parts, *last.content.parts))
        messages = (*before, replace(last, content=content))
    role = captioner.variant(kind)
    params = prompt.params.overlaid(role.params)
    call = role.send(messages, params=params, accept=_fault, convert=TO_DESCRIBE)
    return replace(call, example=_EXAMPLE)


def _summaries(
    captioner: Role,
    reply_of: Mapping[tuple[PartKind, str], Reply],
    prompts: Mapping[PartKind, PromptValue],
) -> Program[dict[tuple[PartKind, str], Reply]]:
    """Asks for one sentence about each caption that the released script shortens.

    Official oddity: if this call fails, the script uses the whole caption.
    """
    calls: dict[tuple[PartKind, str], Call] = {}
    for identity, reply in reply_of.items():
        kind, _ = identity
        prompt = released.summary_prompt(PromptFile.of(prompts[kind]))
        if prompt is not None and reply.ok:
            caption = released.to_summarise(kind, reply.text)
            messages = prompt.messages({"caption": caption})
            call = captioner.send(messages, accept=_fault)
            calls[identity] = replace(call, example=_EXAMPLE)
    if not calls:
        return {}
    summaries = yield from ask_all(list(calls.values()))
    replies = dict(zip(calls, summaries, strict=True))
    return {identity: reply for identity, reply in replies.items() if reply.ok}


def _fault(response: Response) -> str:
    if response.text.strip():
        return ""
    return "the caption is empty"


def _caption(
    part: Part,
    reply: Reply | None,
    form: CaptionForm,
) -> MediumCaption | None:
    """Returns the caption of an item, or None for text and reasoning."""
    is_code_in_text = part.kind == "code" and part.raw == part.text
    if part.kind in ("text", "reasoning") or is_code_in_text:
        return None
    if form == RELEASED:
        return _released(part, reply)
    caption = MediumCaption(part.label, part.kind)
    if part.text is not None:
        return replace(caption, text=part.text)
    if part.media is None:
        return replace(caption, remarks=("a placeholder without a medium",))
    assert reply is not None  # every medium was requested
    return _from_reply(caption, reply)


def _from_reply(caption: MediumCaption, reply: Reply) -> MediumCaption:
    """Returns the caption in the captioner's reply."""
    error = reply.response.error
    if error is None:
        # Spaces between brackets: the text must not look like another item's tag.
        text = re.sub(r"(?<=<)(?=<)|(?<=>)(?=>)", " ", reply.text.strip())
        remarks = reply.response.warnings
        if len(text) > MAX_CAPTION_CHARS:
            cut = f"cut after {MAX_CAPTION_CHARS:,} of {len(text):,} characters"
            remarks = (*remarks, cut)
        return replace(caption, text=text[:MAX_CAPTION_CHARS], remarks=tuple(remarks))
    if error.kind == "bad_media":
        return replace(caption, remarks=(error.message,))
    cause: Cause = "lost"
    if error.kind == "refused":
        cause = "refused"
    elif error.kind in HOPELESS:
        cause = "final"
    return replace(caption, lost=f"{error.kind}: {error.message}", cause=cause)


def _of_data(part: Part, caption: MediumCaption | None) -> MediumCaption | None:
    """Returns the caption of an item of the data set.

    If the item is damaged, the caption is lost, since the answer is not at fault.
    """
    if caption is None or caption.text or caption.lost:
        return caption
    if part.media is None:
        return None  # the placeholder is kept unchanged
    lost = f"{'; '.join(caption.remarks)}; repair the data set"
    return replace(caption, lost=lost, cause="final", remarks=())


def _released(part: Part, reply: Reply | None) -> MediumCaption | None:
    """Returns the caption as the published script makes it.

    A failed caption is empty. The caption of a medium that could not be sent is lost,
    since the captioner has not seen the medium.
    """
    caption = MediumCaption(part.label, part.kind)
    if released.is_not_found(part):
        return replace(caption, text=released.not_found(part.label))
    if reply is None:
        return None  # the tag is kept, or the item has no tag
    error = reply.response.error
    if error is None:
        words = released.useful_words(reply.text)
        return replace(caption, text=words, remarks=reply.response.warnings)
    if error.kind == "unsupported":
        return _from_reply(caption, reply)
    remark = f"the caption failed ({error.kind}: {error.message}) and is empty"
    return replace(caption, remarks=(remark,))


def _written(part: Part, caption: MediumCaption | None) -> str:
    """Returns the text of a part in the standard form."""
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
    tag = f"<<{caption.label}: {words}>>"
    if part.raw:
        return tag
    return f"\n{tag}\n"
