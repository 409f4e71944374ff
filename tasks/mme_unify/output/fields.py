"""Reads and writes the fields of a result row that contain the answer, by task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mmeval.interchange import FindMedium
from mmeval.media import Interleaved, Part, PartKind, text_part
from mmeval.tasks.mme_unify.loader import CATEGORIES
from mmeval.tasks.mme_unify.mme_unify_choice import letter_of
from mmeval.tasks.mme_unify.turns import MazeTurn, answer_of, turn_parts, turns_of


class _OutputKeys(NamedTuple):
    """The keys of the text and of the picture in ``output``."""

    text: str
    picture: str


UNIFY = {
    "iee": _OutputKeys("output_explanation", "output_image"),
    "csq": _OutputKeys("output_choice", "output_image"),
    "al": _OutputKeys("output_choice", "output_image"),
    "sd": _OutputKeys("selected_answer", "difference_image"),
}
VIDEO = ("civg", "tvg", "vp")
OUTPUT, FRAMES, TURNS = "output", "output2", "outputs"
ANSWER_KEYS = (OUTPUT, FRAMES, TURNS)


def parts_in(
    task: str,
    row: Mapping[str, Any],
    find: FindMedium,
) -> Iterator[Part]:
    """Yields the parts of the answer that a row contains.

    A missing file becomes a part without a medium. A value of a type that the scripts
    do not write is ignored.
    """
    output = row.get(OUTPUT)
    if task == "vcot":
        turns = row.get(TURNS)
        if not isinstance(turns, dict):
            return
        for name, turn in turns.items():
            step = name.removeprefix("output_step_")
            if not step.isascii() or not step.isdigit() or not isinstance(turn, dict):
                continue
            action = turn.get("output_action")
            maze_turn = MazeTurn(
                int(step[:9]),
                action if isinstance(action, str) else "",
                turn.get("output_location"),
                next(_medium(turn.get("output_image"), find), None),
            )
            yield from turn_parts(maze_turn)
    elif task in CATEGORIES["understanding"].values():
        yield from _text(output)
    elif task in VIDEO:
        yield from _medium(output, find, "video")
        frames = row.get(FRAMES)
        if isinstance(frames, list):
            for frame in frames:
                yield from _medium(frame, find)
    elif task in UNIFY:
        keys = UNIFY[task]
        if isinstance(output, dict):
            yield from _text(output.get(keys.text))
            if task == "iee" and keys.picture in output and not output[keys.picture]:
                # The script checks that the key exists, and ignores its value.
                yield Part("image")
            yield from _medium(output.get(keys.picture), find)
    else:
        path = output.get("output_image") if isinstance(output, dict) else output
        yield from _medium(path, find)


def _text(value: Any) -> Iterator[Part]:
    if isinstance(value, str):
        yield text_part(value)


def _medium(
    path: Any,
    find: FindMedium,
    kind: PartKind = "image",
) -> Iterator[Part]:
    if isinstance(path, str) and path:
        yield Part(kind, media=find(path))


def fields_of(
    task: str, output: Interleaved, files: Mapping[str, str], options: Sequence[str]
) -> dict[str, Any]:
    """Returns the fields for an answer. ``files`` are the files of its media by digest.

    A choice is written as a single letter, since the scripts cannot read other texts.
    The text is empty if the answer names no letter.
    """
    if task == "vcot":
        turns = {}
        for turn in turns_of(output).values():
            medium = None if turn.picture is None else turn.picture.media
            turns[f"output_step_{turn.step}"] = {
                "output_action": turn.action,
                "output_location": turn.location,
                "output_image": None if medium is None else files[medium.sha256],
                "full_text": answer_of([turn._replace(picture=None)]).words,
            }
        return {TURNS: turns}
    pictures = [files[medium.sha256] for medium in output.media("image")]
    picture = pictures[0] if pictures else None
    if task in VIDEO:
        clips = [files[medium.sha256] for medium in output.media("video")]
        return {OUTPUT: clips[0] if clips else "", FRAMES: pictures}
    if task in ("fir", "tie", "tig"):
        return {OUTPUT: {"output_image": picture}}
    fields: dict[str, Any] = {}
    if task == "iee":
        # The script checks only that a key exists.
        kinds = {part.kind for part in output.parts}
        if "text" in kinds:
            fields[UNIFY[task].text] = output.words
        if "image" in kinds:
            fields[UNIFY[task].picture] = picture
        return {OUTPUT: fields}
    letter = letter_of(output.words, options) or ""
    if task not in UNIFY:
        return {OUTPUT: letter}
    fields[UNIFY[task].text] = letter
    fields[UNIFY[task].picture] = picture
    if task == "sd":
        fields["explanation"] = ""
    return {OUTPUT: fields}
