"""Text in several scripts on pictures: Chinese takes two judges, so that none of them makes characters up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from mmeval.judge import Repeats
from mmeval.metric import metric
from mmeval.metrics.judged.pictures.asking import (
    PLAIN_REPLIES,
    Asking,
    BarePrompt,
    Lost,
    PlacePrompt,
    ask_characters,
)
from mmeval.metrics.judged.pictures.judge_ocr import NEEDS, ask_one_place, text_fault, worth_of
from mmeval.metrics.judged.pictures.looked_at import only_picture
from mmeval.metrics.judged.reading import Reading
from mmeval.metrics.text.normalisers import han
from mmeval.metrics.text.word_accuracy import accuracy_of
from mmeval.program import Program, Role
from mmeval.records import Sample, Score, Trial

Common = Literal["text", "set"]
"""What two readings have in common: a text, or a set of characters."""


def _fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    if isinstance(sample.metadata.get(switches["text_key"]), Mapping):
        return f"the row has several texts under {switches['text_key']!r}; one is read here"
    return text_fault(sample, switches)


@metric(
    range=(0, 1),
    version="1",
    source="MMMG, Multi-Lingual Text Rendering; official: image evaluators 6c7142e8",
    needs=NEEDS,
    profiles={"official": {**PLAIN_REPLIES, "common": "set"}},
    check=_fault,
)
def judge_ocr_multilingual(
    trial: Trial,
    judge: Role,
    second_judge: Role,
    *,
    text_key: str = "text",
    object_key: str = "object",
    common: Common = "text",
    reading: Reading = "robust",
    lost: Lost = "unscored",
    media_first: bool = True,
    second_media_first: bool = False,
    repeats: Repeats = 1,
    prompt: PlacePrompt = "picture_words",
    anywhere_prompt: BarePrompt = "picture_words_anywhere",
    chinese_prompt: BarePrompt = "picture_characters",
) -> Program[Score]:
    """How much of a Chinese text two judges read in the picture, and of any other text one judge does.

    Range 0 to 1, higher is better. Where the label ``text_key`` holds Chinese characters both judges read the picture,
    and what both have read, in the order of the first, is compared with it character by character: 1 less the errors
    for each wanted one. Any other text is read by the first judge alone, as ``judge_ocr`` says.

    ``common`` is ``text``: all characters of the first reading that are in the second, too; or ``set`` (profile
    ``official``): each of them once, as the released script compares sets. That script joins its set in an order that
    differs from process to process, so its value for more than one character cannot be repeated; ours has the order of
    the first judge in both profiles. The answer must have exactly one picture that can be decoded, else it is 0.
    Unscored and ``lost``, ``reading``, ``repeats`` as in ``judge_ocr``; ``media_first`` and ``second_media_first`` put
    the picture before the words for each judge. Evidence: ``readings``, the errors, and both sides as they were
    compared.
    """
    if fault := _fault(trial.sample, {"text_key": text_key, "object_key": object_key}):
        return Score.unscored(fault)
    picture = only_picture(trial)
    if isinstance(picture, Score):
        return picture
    asking = Asking(judge, reading, lost, media_first, repeats)
    text, thing = trial.sample.metadata[text_key], trial.sample.metadata.get(object_key)
    if not han(text):
        return (yield from ask_one_place(asking, prompt if thing else anywhere_prompt, thing, text, picture))
    second = Asking(second_judge, reading, lost, second_media_first, repeats)
    found = yield from ask_characters([asking, second], chinese_prompt, picture)
    read = common_characters(han(found[0].answer), han(found[1].answer), common)
    pairs = accuracy_of([(read, text)], normalise="none", unit="character", blanks="keep")
    return worth_of(found, pairs).scored({"readings": [one.evidence for one in found], **pairs.evidence})


def common_characters(first: str, second: str, common: Common = "text") -> str:
    """The characters of the first reading that the second has, too, in their order there; with ``set`` once each."""
    seen = set(second)
    both = [letter for letter in first if letter in seen]
    return "".join(dict.fromkeys(both) if common == "set" else both)
