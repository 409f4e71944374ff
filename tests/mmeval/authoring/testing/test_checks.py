import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from zlib import crc32

import pytest

from mmeval.authoring.testing.checks import (
    check_backend,
    check_batch,
    check_rows,
    combinations,
    requests,
    usual_prompts,
)
from mmeval.backend.capabilities import Capabilities, Limit
from mmeval.errors import CorruptMediaError
from mmeval.media import decode
from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, Part, PartKind, media_part, text_part
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.records.sample import message, user
from tests.support.tiny_media import picture, sound

Rows = Iterator[tuple[int, Response]]
Asked = Sequence[Request]
Rest = Callable[[Asked], list[tuple[int, Response]]]
Defect = Callable[[Rest, Asked], Any]
TEXT = Capabilities()
TEXT_AND_IMAGE = Capabilities.of(("text", "image"), ("text", "image"), "parallel")


class Parrot:
    """Repeats its words, with a number drawn from the row's own seed where something is
    to be drawn, and beside it a picture of the number's colour where one is wanted. A
    ``defect`` makes other rows of these."""

    identity: Mapping[str, Any] = {"backend": "parrot"}
    provenance: Mapping[str, Any] = {}
    max_batch_size = 8

    def __init__(
        self, capabilities: Capabilities = TEXT, defect: Defect | None = None
    ) -> None:
        self.capabilities = capabilities
        self._defect = defect or (lambda rest, asked: rest(asked))

    def generate_batch(self, requests: Asked) -> Rows:
        yield from self._defect(self._rows, requests)

    def _rows(self, requests: Asked) -> list[tuple[int, Response]]:
        return [
            (row, self._reply(request, random.Random(request.seed)))
            for row, request in enumerate(requests)
        ]

    def _reply(self, request: Request, drawn: random.Random) -> Response:
        parts = request.messages[-1].content.parts
        if any(part.kind not in self.capabilities.inputs for part in parts):
            return Response.failed("unsupported", "that is not taken")
        try:
            words = "".join(map(word, parts))
        except CorruptMediaError as error:
            return Response.failed("bad_request", str(error))
        number = (
            drawn.randrange(256)
            if request.params.temperature
            else crc32(words.encode()) % 256
        )
        texts = [text_part(f"{words} {number}")] if "text" in request.wants else []
        made = [media_part(shade(number))] if "image" in request.wants else []
        return Response(output=Interleaved((*texts, *made)))

    async def close(self) -> None:
        pass


def word(part: Part) -> str:
    return part.raw if part.media is None else f"[{decode.image(part.media).size}]"


def shade(number: int) -> Media:
    return Media.from_bytes(picture(colour=(number, 0, 0)))


def each(change: Callable[[Response, Asked], Response]) -> Defect:
    """A defect of every answer."""
    return lambda rest, asked: [
        (row, change(response, asked)) for row, response in rest(asked)
    ]


def of_parts(change: Callable[[tuple[Part, ...]], Sequence[Part]]) -> Defect:
    """A defect of the parts of every answer."""
    return each(
        lambda found, asked: replace(
            found, output=found.output and Interleaved((*change(found.output.parts),))
        )
    )


def of_questions(change: Callable[[tuple[Part, ...]], Sequence[Part]]) -> Defect:
    """A defect of what is read of every question."""
    return lambda rest, asked: rest(
        [
            replace(
                r, messages=(message("user", *change(r.messages[-1].content.parts)),)
            )
            for r in asked
        ]
    )


def saying(text: str) -> Response:
    return Response(output=Interleaved.from_text(text))


def raising(rest: Rest, asked: Asked) -> Rows:
    for row, response in rest(asked):
        if response.error is not None:
            raise ValueError("what is that?")
        yield row, response


def all_failing(rest: Rest, asked: Asked) -> list[tuple[int, Response]]:
    rows = rest(asked)
    failed = next(
        (response for _, response in rows if response.error is not None), None
    )
    return [(row, failed or response) for row, response in rows]


DEFECTS: dict[str, tuple[Defect, str]] = {
    "mixes rows up": (
        lambda rest, asked: [
            (len(asked) - 1 - row, found) for row, found in rest(asked)
        ],
        "row 0 .* than alone",
    ),
    "forgets the last row": (
        lambda rest, asked: rest(asked)[: max(1, len(asked) - 1)],
        r"rows \[4\]",
    ),
    "answers twice": (
        lambda rest, asked: [*rest(asked), *rest(asked)],
        "row 0 .* twice",
    ),
    "counts from one": (
        lambda rest, asked: [(row + 1, found) for row, found in rest(asked)],
        "for row 5",
    ),
    "counts backwards": (
        lambda rest, asked: [(-1, found) for _, found in rest(asked)],
        "for row -1",
    ),
    "says neither": (each(lambda response, asked: Response()), "row 0 needs either"),
    "is mute": (each(lambda response, asked: saying("yes")), "same answer, 'yes'"),
    "draws by the clock": (
        lambda rest, asked: rest(
            [request.with_seed(random.randrange(10**9)) for request in asked]
        ),
        "the same seed",
    ),
    "never draws": (
        lambda rest, asked: rest([request.with_seed(1) for request in asked]),
        "seeds",
    ),
    "draws by the first seed": (
        lambda rest, asked: rest(
            [
                request.with_seed(asked[0].seed + row)
                for row, request in enumerate(asked)
            ]
        ),
        "with other seeds",
    ),
    "sorts parts": (
        of_questions(lambda parts: sorted(parts, key=lambda part: part.raw)),
        "order is lost",
    ),
    "drops what it does not know": (
        of_questions(lambda parts: [part for part in parts if part.kind == "text"]),
        "kind image was answered",
    ),
    "raises": (raising, "ValueError: what is that"),
    "fails as internal": (
        each(
            lambda found, asked: (
                found
                if found.error is None
                else Response.failed("internal", "ValueError")
            )
        ),
        r"internal \(ValueError\)",
    ),
    "takes its neighbours along": (all_failing, "row 0 .* kind image"),
    "adds a picture": (
        of_parts(lambda parts: [*parts, media_part(shade(3))]),
        "image, .* the request was for text",
    ),
}
DEFECTS_WITH_PICTURES: dict[str, tuple[Defect, str]] = {
    "drops the picture": (
        of_parts(lambda parts: [part for part in parts if part.media is None]),
        "row 0 does not contain image",
    ),
    "drops the words": (
        of_parts(lambda parts: [part for part in parts if part.media]),
        "no answer contains text",
    ),
    "turns the answer round": (
        of_parts(lambda parts: parts[::-1]),
        r"row 0 has image\+text, not in the order text\+image",
    ),
    "says nothing of the picture": (
        each(
            lambda found, asked: (
                found
                if found.error is None or found.error.kind == "unsupported"
                else saying("yes")
            )
        ),
        "unreadable image .*: 'yes'",
    ),
}


def test_a_sound_backend_is_started_and_passes() -> None:
    class Starting(Parrot):
        starts = 0

        def start(self) -> None:
            self.starts += 1

    backend = Starting(TEXT_AND_IMAGE)
    check_backend(backend)
    assert backend.starts == 1


@pytest.mark.parametrize("name", [*DEFECTS, *DEFECTS_WITH_PICTURES])
def test_a_defect_is_named(name: str) -> None:
    defect, words = {**DEFECTS, **DEFECTS_WITH_PICTURES}[name]
    with pytest.raises(AssertionError, match=words):
        if name in DEFECTS_WITH_PICTURES:
            check_backend(Parrot(TEXT_AND_IMAGE, defect), wants=[("text", "image")])
        check_backend(Parrot(TEXT, defect))


def test_a_backend_that_never_draws_has_to_say_so_and_is_held_to_it() -> None:
    check_backend(Parrot(TEXT, DEFECTS["never draws"][0]), deterministic=True)
    with pytest.raises(AssertionError, match="another seed"):
        check_backend(Parrot(), deterministic=True)
    with pytest.raises(
        AssertionError, match=r"row 0 .* unsupported \(that is not taken\)"
    ):
        check_rows(
            Parrot(Capabilities(inputs={})), requests([user("hello"), user("you")])
        )


class Artist(Parrot):
    """Gives a medium made of its words, and of how many rows are asked beside it, times
    ``step``."""

    def __init__(self, kind: PartKind, make: Callable[[int], Media], step: int) -> None:
        super().__init__(Capabilities.of(("text",), (kind,), "single"))
        self._make, self._step = make, step

    def generate_batch(self, requests: Asked) -> Rows:
        for row, request in enumerate(requests):
            number = len(request.messages[-1].content.text) + self._step * (
                len(requests) - 1
            )
            yield row, Response(output=Interleaved((media_part(self._make(number)),)))


def hum(number: int) -> Media:
    return Media.from_bytes(sound("WAV", "FLOAT", value=number / 3050))


@pytest.mark.parametrize(
    ("kind", "make"), [("image", shade), ("audio", hum)], ids=["3 of 255", "3 of 3050"]
)
def test_an_imperceptible_difference_is_none(
    kind: PartKind, make: Callable[[int], Media]
) -> None:
    asked = requests([user("a" * length) for length in (1, 8, 12, 22)], wants=(kind,))
    check_batch(Artist(kind, make, 1), asked)
    with pytest.raises(AssertionError, match=f"alone: {kind}"):
        check_batch(Artist(kind, make, 2), asked)


def test_what_is_asked_follows_from_the_capabilities() -> None:
    exclusive = Capabilities.of(
        ("text", "image", "audio"), ("text", "image"), "exclusive"
    )
    coding = Capabilities.of(("text",), ("code", "text", "image"), "interleaved")
    assert combinations(exclusive) == [("text",), ("image",)]
    assert (
        combinations(TEXT_AND_IMAGE)
        == combinations(coding)
        == [("text",), ("image",), ("text", "image")]
    )
    assert combinations(Capabilities.of(("text",), ("code",), "single")) == [("code",)]
    kinds = [
        [part.kind for part in prompt.content.parts]
        for prompt in usual_prompts(exclusive)
    ]
    assert kinds == [
        ["text", "image", "text"],
        ["text", "audio", "text"],
        *[["text", "text"]] * 3,
    ]


def test_every_usual_prompt_has_the_media_that_a_backend_requires() -> None:
    capabilities = Capabilities(
        {"text": Limit(), "image": Limit(min_items=1), "audio": Limit()}
    )
    for prompt in usual_prompts(capabilities):
        kinds = [part.kind for part in prompt.content.parts]
        assert kinds == ["text", "image", "text"]
