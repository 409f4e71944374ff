import email.parser
import email.policy
from email.message import EmailMessage
from typing import Any

import pytest

from mmeval.content.media import Media
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
from tests.support.scripted_server import Captured, Scripted, ScriptedServer

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
    assert (first.headers["Idempotency-Key"], first.body == again.body) == (
        "5" * 32,
        True,
    )
    assert others[0].body != others[1].body


@pytest.mark.parametrize(
    ("given", "named"),
    [(medium(WAV), "audio"), (Media(data=PNG, mime="image/png\r\nX-Evil: 1"), "MIME")],
    ids=["sound", "hostile mime type"],
)
def test_input_that_is_no_picture_or_claims_a_header_is_unsupported(
    given: Media, named: str
) -> None:
    error = failure(
        "http://localhost:1/v1",
        request("x", given, wants=("image",)),
        endpoint="images",
    )
    assert (error.kind, named in error.message) == ("unsupported", True)


@pytest.mark.parametrize(
    "body",
    [
        {"data": []},
        {"data": None},
        {},
        {"data": [{"url": "https://cdn/x.png"}]},
        {"data": [{"b64_json": "QUJD!"}]},
    ],
    ids=["no pictures", "null", "no data", "link", "damaged"],
)
def test_a_reply_without_a_picture_is_a_bad_reply(body: dict[str, object]) -> None:
    with ScriptedServer(Scripted(body)) as server:
        assert (
            failure(server.url, request("x", wants=("image",)), endpoint="images").kind
            == "bad_reply"
        )
