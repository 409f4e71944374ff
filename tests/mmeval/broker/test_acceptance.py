import pytest

from mmeval.broker.acceptance import checked, fault_of, reasoning_apart, with_warnings
from mmeval.media.parts import Interleaved, media_part, text_part
from mmeval.program.calls import Call
from mmeval.records.response import Response
from tests.support.toy import picture, reply, request

ANY = Call("judge", request())
YES = Call(
    "judge", request(), accept=lambda response: "" if response.text == "yes" else "odd"
)


def kinds(output: Interleaved) -> list[str]:
    return [part.kind for part in output.parts]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (["<think>hm</think>see", picture()], ["reasoning", "text", "image"]),
        ([picture(), "<think>hm</think>see"], ["image", "reasoning", "text"]),
        (["see", picture()], ["text", "image"]),
    ],
    ids=["media at the end", "media before words", "no reasoning"],
)
def test_reasoning_becomes_a_part_and_media_keep_their_order(
    parts: list[object], expected: list[str]
) -> None:
    output = Interleaved(
        tuple(
            text_part(part) if isinstance(part, str) else media_part(part)  # type: ignore[arg-type]
            for part in parts
        )
    )

    assert kinds(reasoning_apart(output, "<think>", "</think>")) == expected


def test_a_reply_that_needs_no_change_is_the_same_object() -> None:
    response = reply("yes")

    assert checked(YES, response, ("<think>", "</think>")) == (response, "")
    assert checked(YES, response, ("<think>", "</think>"))[0] is response


def test_an_unacceptable_reply_is_a_failure_with_its_beginning() -> None:
    response, fault = checked(YES, reply("perhaps"), None)

    assert (fault, response.output) == ("odd", None)
    assert response.error is not None
    assert (response.error.kind, response.error.reply) == ("bad_reply", "perhaps")


def test_a_refusal_has_no_fault() -> None:
    refused = Response(Interleaved(()), finish_reason="refused")

    assert fault_of(YES, refused) == ""


def test_an_option_that_was_left_out_is_a_warning_of_the_reply() -> None:
    response, _ = checked(ANY, reply("yes"), None, ["image.size"])

    assert "image.size" in response.warnings[0]


def test_a_warning_is_added_once() -> None:
    warned = with_warnings(reply("yes"), ["slow"])

    assert with_warnings(warned, ["slow"]) is warned
