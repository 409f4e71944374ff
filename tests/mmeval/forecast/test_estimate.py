from dataclasses import replace

import pytest

from mmeval.forecast import estimate
from mmeval.forecast.estimate import TokenRange, stand_in, weigh
from mmeval.media.decode import image
from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, PartKind, media_part
from mmeval.records.request import GenerationParams, Request
from mmeval.records.sample import Message
from tests.support.toy import request


def test_the_numbers_of_the_docs() -> None:
    assert (
        estimate.CHARS_A_TOKEN,
        estimate.DEFAULT_OUTPUT_TOKENS,
        estimate.SHORT_ANSWER,
    ) == ((5, 3), 1024, 1 / 8)
    assert [(kind, *rate) for kind, rate in estimate.INPUT_TOKENS.items()] == [
        ("image", 85, 1600, 0),
        ("audio", 10, 64, 32_000),
        ("video", 66, 1100, 500_000),
        ("document", 100, 3000, 100_000),
        ("3d", 0, 25_000, 100_000),
    ]
    made = {"image": (270, 4200), "audio": (200, 1500), "video": (1000, 20_000)}
    made |= {"document": (200, 4000), "3d": (200, 20_000)}
    assert {kind: rate[:2] for kind, rate in estimate.MADE_TOKENS.items()} == made
    sizes = {
        "image": 1_500_000,
        "audio": 1_000_000,
        "video": 8_000_000,
        "document": 200_000,
        "3d": 2_000_000,
    }
    assert sizes == estimate.MADE_BYTES


def of_medium(kind: PartKind, size: int) -> Request:
    medium = Media(sha256="0" * 64, size=size)
    return Request((Message("user", Interleaved((media_part(medium, kind),))),))


@pytest.mark.parametrize(
    ("asked", "tokens_in", "media_bytes"),
    [
        (request("x" * 30), (6, 10), 0),
        (request("ä" * 15), (6, 10), 0),
        (of_medium("image", 10**6), (85, 1600), 10**6),
        (of_medium("audio", 64_000), (20, 128), 64_000),
        (of_medium("3d", 50_000), (0, 12_500), 50_000),
    ],
    ids=["ascii", "more bytes", "a picture", "two seconds of sound", "half a 3D file"],
)
def test_a_request_is_weighed_by_its_words_and_media(
    asked: Request, tokens_in: tuple[float, float], media_bytes: int
) -> None:
    found = weigh(asked)
    assert (found.tokens_in, found.media_bytes) == (TokenRange(*tokens_in), media_bytes)


def test_an_answer_is_weighed_by_the_wanted_kinds() -> None:
    def weight(*wants: PartKind) -> tuple[TokenRange, float, float]:
        found = weigh(replace(request(), wants=wants))
        return found.tokens_out, found.disk_bytes, found.images

    assert weight("text") == (TokenRange(128, 1024), 400 + 4096, 0)
    assert weight("text", "image") == (
        TokenRange(128 + 270, 1024 + 4200),
        400 + 4096 + 1_500_000,
        1,
    )
    assert weight("audio") == (TokenRange(200, 1500), 400 + 1_000_000, 0)
    assert weigh(replace(request(), wants=("video",))).videos == 1
    assert TokenRange(1, 2) + TokenRange(3, 4) == TokenRange(4, 6)


def test_a_stand_in_has_the_kinds_that_are_wanted_and_claims_their_sizes() -> None:
    wants: tuple[PartKind, ...] = ("text", "image", "audio")
    text, picture, sound = stand_in(
        Request((), GenerationParams(max_tokens=30), wants)
    ).parts
    assert (text.text, len(stand_in(request()).text)) == ("x" * 120, 1000)
    assert picture.media is not None and sound.media is not None
    assert (picture.media.size, sound.media.size, image(picture.media).size) == (
        1_500_000,
        1_000_000,
        (16, 16),
    )
