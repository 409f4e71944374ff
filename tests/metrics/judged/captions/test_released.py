"""The calls for captions in UniM's released words."""

from typing import Any

import pytest

from mmeval.media import Interleaved, Media, PartKind
from mmeval.metrics.judged.captions.captioning import CaptionForm, caption_contents
from mmeval.program import Call, Role
from mmeval.records import GenerationParams
from tests.support import tiny_media
from tests.support.judging import driven
from tests.support.toy import reply

PDF = Media.from_bytes(tiny_media.pdf())
SOUND = Media.from_bytes(tiny_media.wav())
SOLID = Media.from_bytes(tiny_media.glb())


def released(text: str, **call: Any) -> dict[str, Any]:
    return {"name": "p", "text": text, "released": "unim.x", "call": call}


def asked(
    kind: PartKind, medium: Media, prompt: dict[str, Any], form: CaptionForm
) -> list[Call]:
    answer = Interleaved.from_text(f"It is <{kind}1>.", {f"{kind}1": medium})
    program = caption_contents(
        [answer], Role("captioner"), {kind: prompt}, form=form, subject="art"
    )
    _, steps = driven(program, lambda call: reply(" So it is. "))
    return [call for step in steps for call in step]


@pytest.mark.parametrize(
    ("form", "media"), [("released", 0), ("standard", 1)], ids=["official", "standard"]
)
def test_the_script_sends_the_name_of_a_pdf_alone(
    form: CaptionForm, media: int
) -> None:
    prompt = released("{{ file }}: {{ extracted }}")
    (call,) = asked("document", PDF, prompt, form)
    content = call.request.messages[-1].content
    assert content.words == "document1.pdf: N/A"
    assert len(content.media()) == media


@pytest.mark.parametrize(
    ("form", "answer"), [("released", "It is <threeD1>."), ("standard", "N/A")]
)
def test_the_script_shows_the_answer_with_a_3d_object(
    form: CaptionForm, answer: str
) -> None:
    solid = Interleaved.from_text("It is <threeD1>.", {"threeD1": SOLID})
    prompt = released("{{ subject }}: {{ answer }}{{ medium }}")
    program = caption_contents(
        [solid], Role("captioner"), {"3d": prompt}, form=form, subject="art"
    )
    _, ((call,),) = driven(program, lambda call: reply("A box."))
    assert call.request.messages[-1].content.words == f"art: {answer}"


SUMMARY = released("[system]\nBe brief.\n[user]\nShorten: {{ caption }}")


def test_a_transcript_is_shortened_by_a_second_call() -> None:
    prompt = released("Transcribe.{{ medium }}", max_tokens=9, then=SUMMARY)
    first, second = asked("audio", SOUND, prompt, "released")
    assert first.request.params == GenerationParams(max_tokens=9)
    words = [message.content.text for message in second.request.messages]
    assert words == ["Be brief.", "Shorten: So it is."]


def test_a_caption_is_not_shortened_outside_of_the_released_form() -> None:
    prompt = released("Transcribe.{{ medium }}", then=SUMMARY)
    assert len(asked("audio", SOUND, prompt, "standard")) == 1
