import email.parser
import email.policy
import json
from email.message import EmailMessage
from typing import Any

import pytest

from mmeval.media.media import Media
from mmeval.records import Response
from mmeval.records.sample import message, user
from tests.support.mock_openai_server import MockServer
from tests.support.openai_calls import (
    PNG,
    WAV,
    data_uri,
    failure,
    generate,
    medium,
    request,
)
from tests.support.servers import Captured, Scripted, ScriptedServer

PICTURE = Scripted({"data": [{"b64_json": data_uri(PNG, "").partition(",")[2]}]})


def form_of(captured: Captured) -> list[EmailMessage]:
    head = f"Content-Type: {captured.headers['Content-Type']}\r\n\r\n".encode()
    parsed = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
        head + captured.body
    )
    return [part for part in parsed.iter_parts() if isinstance(part, EmailMessage)]


def name_of(part: EmailMessage) -> str:
    return str(part.get_param("name", header="content-disposition"))


@pytest.mark.parametrize(
    ("asked", "arguments", "path", "kinds"),
    [
        (
            request("a cat", wants=("image",)),
            {"endpoint": "images"},
            "images/generations",
            ["image"],
        ),
        (
            request("a cat", wants=("image",)),
            {"endpoint": "auto"},
            "images/generations",
            ["image"],
        ),
        (
            request("hat", medium(PNG), wants=("image",)),
            {"endpoint": "images"},
            "images/edits",
            ["image"],
        ),
        (
            request("draw", wants=("text", "image")),
            {"endpoint": "auto"},
            "chat/completions",
            ["text", "image"],
        ),
    ],
)
def test_a_picture_is_drawn_by_the_endpoint_for_it(
    asked: Any,
    arguments: dict[str, Any],
    path: str,
    kinds: list[str],
    mock_server: MockServer,
) -> None:
    outputs = "image" if arguments["endpoint"] == "images" else "text+image"
    output = generate(mock_server.url, asked, outputs=outputs, **arguments).output
    assert output is not None
    assert [part.kind for part in output.parts] == kinds
    assert output.media("image")[0].mime == "image/png"
    assert mock_server.stats()["paths"] == {f"/v1/{path}": 1}


def test_the_prompt_holds_all_messages_and_the_options_have_fields() -> None:
    options = {"image.size": "64x64", "image.quality": "low"}
    asked = request(
        message("system", "flat colours"),
        user("a cat"),
        wants=("image",),
        options=options,
    )
    with ScriptedServer(PICTURE) as server:
        generate(server.url, asked, endpoint="images")
        generate(
            server.url,
            request("x", wants=("image",)),
            endpoint="images",
            image_response_format="b64_json",
        )
    body = {
        "model": "m",
        "prompt": "flat colours\n\na cat",
        "n": 1,
        "size": "64x64",
        "quality": "low",
    }
    assert server.seen[0].json == body
    assert server.seen[1].json == {
        "model": "m",
        "prompt": "x",
        "n": 1,
        "response_format": "b64_json",
    }


def test_pictures_go_whole_under_neutral_names() -> None:
    second = PNG + b"\r\n--x\r\n"
    with ScriptedServer(PICTURE) as server:
        generate(
            server.url,
            request("mix ", medium(PNG), " and ", medium(second), wants=("image",)),
            endpoint="images",
        )
    form = form_of(server.seen[0])
    assert {name_of(part): part for part in form}[
        "prompt"
    ].get_payload() == "mix [image1] and [image2]"
    files = [
        (name_of(one), one.get_filename(), one.get_payload(decode=True))
        for one in form
        if one.get_filename()
    ]
    assert files == [("image[]", "image1.png", PNG), ("image[]", "image2.png", second)]
    with ScriptedServer(PICTURE) as server:
        generate(
            server.url, request("hat", medium(PNG), wants=("image",)), endpoint="images"
        )
    assert sorted(name_of(part) for part in form_of(server.seen[0])) == [
        "image",
        "model",
        "n",
        "prompt",
    ]


def test_a_form_that_is_sent_again_under_its_key_has_the_same_bytes() -> None:
    asked = request("hat", medium(PNG), wants=("image",))
    with ScriptedServer(*[PICTURE] * 4) as server:
        for one in (
            asked.with_seed(1, "5" * 32),
            asked.with_seed(1, "5" * 32),
            asked,
            asked,
        ):
            generate(server.url, one, endpoint="images")
    first, again, *others = server.seen
    assert first.headers["Idempotency-Key"] == "5" * 32
    assert first.body == again.body
    assert others[0].body != others[1].body


@pytest.mark.parametrize(
    ("given", "kind", "named"),
    [
        (medium(WAV), "unsupported", "audio"),
        (Media(data=PNG, mime="image/png\r\nX-Evil: 1"), "bad_request", "X-Evil"),
    ],
    ids=["sound", "hostile mime type"],
)
def test_input_that_is_no_picture_or_claims_a_header_is_not_sent(
    given: Media, kind: str, named: str
) -> None:
    error = failure(
        "http://localhost:1/v1",
        request("x", given, wants=("image",)),
        endpoint="images",
    )
    assert error.kind == kind
    assert named in error.message


DRAW = request("x", wants=("image",))


WITHOUT_A_PICTURE = {
    "null": ({"data": None}, "bad_reply"),
    "no data": ({}, "bad_reply"),
    "damaged": ({"data": [{"b64_json": "QUJD!"}]}, "bad_reply"),
    "link": ({"data": [{"url": "https://cdn/x.png"}]}, "unsupported"),
}


@pytest.mark.parametrize(
    ("body", "kind"),
    WITHOUT_A_PICTURE.values(),
    ids=WITHOUT_A_PICTURE,
)
def test_a_reply_without_a_picture_is_an_error(
    body: dict[str, object], kind: str
) -> None:
    with ScriptedServer(Scripted(body)) as server:
        assert failure(server.url, DRAW, endpoint="images").kind == kind


def test_an_empty_list_of_pictures_is_an_answer_with_a_warning() -> None:
    with ScriptedServer(Scripted({"data": []})) as server:
        response = generate(server.url, DRAW, endpoint="images")
    assert response.output is not None
    assert response.output.parts == ()
    assert len(response.warnings) == 1


@pytest.mark.parametrize(("given", "sent"), [(None, False), (True, True)])
def test_a_seed_is_sent_to_pictures_only_on_request(
    given: bool | None, sent: bool
) -> None:
    with ScriptedServer(PICTURE) as server:
        generate(server.url, DRAW, endpoint="images", send_seed=given)
    assert ("seed" in server.seen[0].json) is sent


def test_pictures_of_openrouter_are_asked_for_in_its_dialect() -> None:
    asked = request("blue", medium(PNG), wants=("image",))
    with ScriptedServer(PICTURE) as server:
        generate(server.url, asked, endpoint="images", images_dialect="openrouter")
    assert server.seen[0].path == "/v1/images"
    assert server.seen[0].json["input_references"] == [
        {"type": "image_url", "image_url": {"url": data_uri(PNG, "image/png")}}
    ]


def drawn(*rows: dict[str, Any]) -> Response:
    """The answer that these events of a stream make."""
    body = "".join(f"data: {json.dumps(row)}\n\n" for row in rows).encode()
    stream = Scripted(body, headers={"Content-Type": "text/event-stream"})
    with ScriptedServer(stream) as server:
        return generate(server.url, DRAW, endpoint="images", stream=True)


COMPLETED = {
    "type": "image_generation.completed",
    "b64_json": data_uri(PNG, "").partition(",")[2],
}


def test_partial_pictures_of_a_stream_are_no_parts() -> None:
    partial = {"type": "image_generation.partial_image", "b64_json": "AAAA"}
    response = drawn(partial, COMPLETED)
    assert response.output is not None
    assert [part.media for part in response.output.parts] == [Media.from_bytes(PNG)]


def test_an_unknown_event_with_a_picture_is_a_warning() -> None:
    unknown = {"type": "image_generation.depth", "b64_json": "QUJDREVG" * 12}
    assert "depth" in drawn(unknown, COMPLETED).warnings[0]
