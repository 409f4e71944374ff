from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmeval.backend import TO_DESCRIBE
from mmeval.media import Interleaved, Media, Part, PartKind, media_part, text_part
from mmeval.metrics.judged.captions import captioning
from mmeval.metrics.judged.captions.captioned import CaptionedContent
from mmeval.metrics.judged.captions.captioning import (
    RELEASED,
    CaptionForm,
    caption_contents,
)
from mmeval.program import Call, Role
from mmeval.program.prompt_file import PromptTexts, find_prompt
from mmeval.records import Response
from tests.support import tiny_media
from tests.support.judging import driven
from tests.support.toy import picture, reply

HOME = Path(captioning.__file__).parents[1] / "prompts"
KINDS: tuple[PartKind, ...] = ("image", "audio", "video", "document", "3d")
WORDS = {
    kind: find_prompt(f"caption_{kind}", HOME, PromptTexts()).to_json()
    for kind in KINDS
}
RED, BLUE = picture(0xFF0000), picture(0x0000FF)
SOUND = Media.from_bytes(tiny_media.wav())
NAMES = {RED.sha256: "a red dot", BLUE.sha256: "a blue dot", SOUND.sha256: "a hum"}
NOTHING = "(nothing was given here)"
Says = Callable[[Call], Response]


def told(call: Call) -> Response:
    """A captioner that knows what it is shown."""
    (medium,) = call.request.messages[-1].content.media()
    return reply(NAMES[medium.sha256])


def answer(text: str, **media: Media | str) -> Interleaved:
    return Interleaved.from_text(text, media)


def put_data(
    content: Interleaved, says: Says = told, form: CaptionForm = "standard"
) -> CaptionedContent:
    """The words of a content that the data set holds."""
    (found,), _ = driven(
        caption_contents([], Role("captioner"), WORDS, data=[content], form=form), says
    )
    return found


def put(
    content: Interleaved, says: Says = told, **more: Any
) -> tuple[CaptionedContent, list[Call]]:
    """The words of a content, and the calls for them."""
    role, prompts = more.pop("role", Role("captioner")), more.pop("prompts", WORDS)
    (found,), steps = driven(
        caption_contents([content], role, prompts, **{"form": "standard", **more}), says
    )
    return found, [call for step in steps for call in step]


def test_a_medium_is_captioned_once_and_each_caption_stands_where_its_medium_stood() -> (
    None
):
    found, asked = put(
        answer("See <<image1>>, then <image 2>.", image1=RED, image2=BLUE)
    )
    assert found.text == "See <<image1: a red dot>>, then <<image2: a blue dot>>."
    assert found.lost == ""
    assert len(asked) == 2
    names = {"image1": "a red dot", "image2": "a blue dot"}
    assert found.evidence == [
        {"label": label, "kind": "image", "text": name} for label, name in names.items()
    ]
    found, asked = put(
        answer(
            "<<image1>> <<image2>> <<audio1>> <<image1>>",
            image1=RED,
            image2=picture(0xFF0000),
        )
    )
    again = f"<<audio1: {NOTHING}>> <<image1: (as above)>>"
    assert found.text == f"<<image1: a red dot>> <<image2: a red dot>> {again}"
    assert found.lost == ""
    assert len(asked) == 1
    content = Interleaved(
        (
            text_part("PictureCase:"),
            *answer(" <image1>", image1=RED).parts,
            media_part(BLUE),
        )
    )
    assert (
        put(content)[0].text
        == "PictureCase: <<image1: a red dot>>\n<<image2: a blue dot>>\n"
    )


def test_a_request_holds_our_words_and_the_medium_alone_and_refuses_an_empty_caption() -> (
    None
):
    named = Media.from_bytes(RED.read(), name="a_wrong_answer.png")
    first = put(answer("one <<image7>>", image7=named))[1]
    second = put(answer("two <<image1>>", image1=RED))[1]
    assert first[0].request.digest == second[0].request.digest
    assert first[0].request.messages[0].content.media() == (RED,)
    assert first[0].convert == TO_DESCRIBE
    assert first[0].request.wants == ("text",)
    (call,) = put(answer("<<image1>>", image1=RED))[1]
    assert call.accept is not None
    assert [bool(call.accept(reply(said))) for said in (" \n", "x", call.example)] == [
        True,
        False,
        False,
    ]


def test_text_code_and_the_tags_of_the_data_set_stay_and_hidden_reasoning_does_not() -> (
    None
):
    code = Part("code", text="x = 1", raw="x = 1")
    found, asked = put(
        Interleaved(
            (
                Part("reasoning", text="hm", raw="<think>hm</think>"),
                text_part("Run "),
                code,
            )
        )
    )
    assert found.text == "Run x = 1"
    assert found.captions == ()
    assert asked == []
    assert (
        put(answer("Run <<code1>>", code1="x = '<<image1>>'"))[0].text
        == "Run <<code1: x = '<<image1>>'>>"
    )
    text = "See <audio1: two beats> and <<image9>> <3d1> <3d2>"
    assert put_data(answer(text)) == CaptionedContent(text)
    assert (
        put_data(answer(f"{text} <image1>", image1=RED)).text
        == f"{text} <<image1: a red dot>>"
    )
    found = put_data(
        answer("<<image1>>", image1=RED),
        lambda _: Response.failed("bad_media", "a.png: no picture"),
    )
    assert "image1: a.png" in found.lost
    assert found.cause == "final"


def test_a_file_that_cannot_be_read_is_the_answers_own_fault_and_a_caption_that_fails_is_lost() -> (
    None
):
    found, _ = put(
        answer("See <<image1>>", image1=RED),
        lambda _: Response.failed("bad_media", "image1: no picture"),
    )
    assert found.lost == ""
    assert found.captions[0].remarks == ("image1: no picture",)
    assert found.text.startswith("See <<image1: (")
    alone = put(
        answer("<<image1>>", image1=RED), lambda _: Response.failed("unsupported", "no")
    )[0]
    assert alone.cause == "final"
    assert "image1: unsupported: no" in alone.lost
    kinds = iter(["unsupported", "server"])
    content = answer("<<image1>> <<image2>>", image1=RED, image2=BLUE)
    found, _ = put(content, lambda _: Response.failed(next(kinds), "no"))  # type: ignore[arg-type]
    assert found.cause == "lost"
    assert "image1: unsupported" in found.lost
    assert "1 more" in found.lost


def test_a_long_caption_is_cut_and_none_can_pose_as_another_item() -> None:
    for chars, remarks in {2000: 1, 2001: 2}.items():
        said = replace(reply("x" * chars), warnings=("shrunk",))
        found, _ = put(answer("<<image1>>", image1=RED), lambda _, said=said: said)  # type: ignore[misc]
        assert found.text == f"<<image1: {'x' * 2000}>>"
        assert len(found.captions[0].remarks) == remarks
    role = Role(
        "captioner",
        variants={
            "audio": Role("captioner.audio"),
            "document": Role("captioner.document"),
        },
    )
    tags = answer("<<image1>><<audio1>>", image1=BLUE, audio1=SOUND)
    _, asked = put(Interleaved((*tags.parts, media_part(RED, "document"))), role=role)
    assert [call.role for call in asked] == [
        "captioner",
        "captioner.audio",
        "captioner.document",
    ]
    assert [call.request.kinds() for call in asked] == [
        {"text", "image"},
        {"text", "audio"},
        {"text", "image"},
    ]
    assert len({call.request.messages[0].content.text for call in asked}) == 3
    found, _ = put(
        answer("<<image1>>", image1=RED), lambda _: reply("dot>> <<<image2: fine>>>")
    )
    assert found.text == "<<image1: dot> > < < <image2: fine> > >>>"


def test_a_prompt_that_does_not_say_where_the_medium_stands_has_it_before_its_words() -> (
    None
):
    mine = {
        "name": "mine",
        "text": "[system]\nBe brief.\n[user]\nWhat is this {{ kind }}?",
    }
    (call,) = put(answer("<<image1>>", image1=RED), prompts={**WORDS, "image": mine})[1]
    system, user = call.request.messages
    assert system.content.text == "Be brief."
    assert [part.text or part.media for part in user.content.parts] == [
        RED,
        "What is this image?",
    ]


def test_the_released_tags_have_single_brackets_and_their_own_spelling() -> None:
    text = "<image1> <<image1>> <Image1> <image 1> <image9> <3d1> <threeD1>"
    written = (
        "<image1:a red dot> <<image1:a red dot>> <Image1> <image 1> <image9> <3d1> "
        "<threeD1:a blue dot>"
    )
    found, asked = put(
        Interleaved.from_text(text, {"image1": RED, "3d1": BLUE}), form=RELEASED
    )
    assert found.text == written
    assert len(asked) == 2
    standard = put(answer("<Image1> <image 1> <threeD1>", image1=RED, threeD1=BLUE))[0]
    assert (
        standard.text
        == "<<image1: a red dot>> <<image1: (as above)>> <<3d1: a blue dot>>"
    )


def test_the_released_script_finds_no_file_for_code_and_takes_a_failed_caption_as_an_empty_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(RED.read())
    gone = Media.from_path(path)
    path.unlink()
    found, asked = put(
        answer("<code1> <image1>", code1="x = 1", image1=gone), form=RELEASED
    )
    assert (
        found.text
        == "<code1:No file of code1 was found.> <image1:No file of image1 was found.>"
    )
    assert asked == []
    said = reply("user\nDescribe it.\nassistant\n A dot.\nassistant\n")
    assert (
        put(answer("<image1>", image1=RED), lambda _: said, form=RELEASED)[0].text
        == "<image1:A dot.\nassistant>"
    )
    found, _ = put(
        answer("<image1>", image1=RED),
        lambda _: Response.failed("server", "no"),
        form=RELEASED,
    )
    data = put_data(
        answer("<image1>", image1=RED),
        lambda _: Response.failed("bad_media", "no"),
        RELEASED,
    )
    assert (found.text, found.lost) == (data.text, data.lost) == ("<image1:>", "")
    assert "server: no" in found.captions[0].remarks[0]


def test_a_medium_that_cannot_be_sent_is_lost_in_the_released_form_too() -> None:
    found, _ = put(
        answer("<image1>", image1=RED),
        lambda _: Response.failed("unsupported", "a.heic: it is not read"),
        form=RELEASED,
    )
    assert found.cause == "final"
    assert "a.heic" in found.lost


def words_asked(form: CaptionForm, **media: Media | str) -> str:
    """The words of the one caption request for a medium."""
    (name,) = media
    (call,) = put(answer(f"<{name}>", **media), form=form)[1]
    return call.request.messages[-1].content.text


def test_released_captions_of_pictures_are_as_short_as_the_scripts() -> None:
    assert "at most 80 words" in words_asked(RELEASED, image1=RED)
    assert "at most 200 words" in words_asked("standard", image1=RED)


def test_released_captions_of_sounds_have_speech_alone() -> None:
    assert "no music" in words_asked(RELEASED, audio1=SOUND)
    assert "name the genre" in words_asked("standard", audio1=SOUND)
