"""The conformance kit: a sound toy passes every check, and each toy with one defect is told which."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from zlib import crc32

import pytest

from mmeval import decode
from mmeval.backend.capabilities import Capabilities
from mmeval.content.media import Media
from mmeval.content.parts import Interleaved, Part, PartKind, media_part, text_part
from mmeval.errors import CorruptMediaError
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.records.sample import message, user
from mmeval.testing.checks import check_backend, check_batch, check_rows, combinations, requests, usual_prompts
from tests.support.tiny_media import picture, sound

Rows = Iterator[tuple[int, Response]]
TEXT, TEXT_AND_IMAGE = Capabilities(), Capabilities.of(("text", "image"), ("text", "image"), "parallel")


class Parrot:
    """Says again what it was asked, with a number drawn from the row's own seed where something is to be drawn, and
    beside it a picture of the number's colour where one is wanted."""

    identity: Mapping[str, Any] = {"backend": "parrot"}
    provenance: Mapping[str, Any] = {}
    max_batch_size = 8

    def __init__(self, capabilities: Capabilities = TEXT) -> None:
        self.capabilities = capabilities

    def generate_batch(self, requests: Sequence[Request]) -> Rows:
        for row, request in enumerate(requests):
            yield row, self.reply(request, random.Random(request.seed))

    def reply(self, request: Request, drawn: random.Random) -> Response:
        said = self.said(request)
        if isinstance(said, Response):
            return said
        number = drawn.randrange(256) if request.params.temperature else crc32(said.encode()) % 256
        texts = [text_part(f"{said} {number}")] if "text" in request.wants else []
        made = [media_part(shade(number))] if "image" in request.wants else []
        return Response(output=Interleaved((*texts, *made)))

    def said(self, request: Request) -> str | Response:
        parts = request.messages[-1].content.parts
        if any(part.kind not in self.capabilities.inputs for part in parts):
            return Response.failed("unsupported", "that is not taken")
        try:
            return "".join(map(word, parts))
        except CorruptMediaError as error:
            return Response.failed("bad_request", str(error))

    async def close(self) -> None:
        pass


def word(part: Part) -> str:
    return part.raw if part.media is None else f"[{decode.image(part.media).size}]"


def shade(number: int) -> Media:
    return Media.from_bytes(picture(colour=(number, 0, 0)))


class Wrapped(Parrot):
    """A parrot with a defect: what ``defect`` makes of the rows and their responses."""

    def __init__(self, defect: Callable[[Parrot, Sequence[Request]], Rows], capabilities: Capabilities = TEXT) -> None:
        super().__init__(capabilities)
        self._defect = defect

    def generate_batch(self, requests: Sequence[Request]) -> Rows:
        yield from self._defect(Parrot(self.capabilities), requests)


def mixes_rows_up(parrot: Parrot, asked: Sequence[Request]) -> Rows:
    for row, response in parrot.generate_batch(asked):
        yield len(asked) - 1 - row, response


def forgets_the_last_row(parrot: Parrot, asked: Sequence[Request]) -> Rows:
    yield from list(parrot.generate_batch(asked))[: max(1, len(asked) - 1)]


def answers_twice(parrot: Parrot, asked: Sequence[Request]) -> Rows:
    yield from [*parrot.generate_batch(asked), *parrot.generate_batch(asked)]


def counts_from_one(parrot: Parrot, asked: Sequence[Request]) -> Rows:
    yield from ((row + 1, response) for row, response in parrot.generate_batch(asked))


def says_neither(parrot: Parrot, asked: Sequence[Request]) -> Rows:
    yield from ((row, Response()) for row, _ in parrot.generate_batch(asked))


def pads(parrot: Parrot, asked: Sequence[Request]) -> Rows:
    for row, response in parrot.generate_batch(asked):
        yield row, said(response, f"{response.text}{'.' * (len(asked) - 1)}")


def is_mute(parrot: Parrot, asked: Sequence[Request]) -> Rows:
    yield from ((row, said(response, "yes")) for row, response in parrot.generate_batch(asked))


def draws_from_the_clock(parrot: Parrot, asked: Sequence[Request]) -> Rows:
    others = [request.with_seed(random.randrange(10**9)) for request in asked]
    yield from parrot.generate_batch(others)


def never_draws(parrot: Parrot, asked: Sequence[Request]) -> Rows:
    yield from parrot.generate_batch([request.with_seed(1) for request in asked])


def draws_by_the_first_seed(parrot: Parrot, asked: Sequence[Request]) -> Rows:
    yield from parrot.generate_batch([request.with_seed(asked[0].seed + row) for row, request in enumerate(asked)])


def sorts_parts(parrot: Parrot, asked: Sequence[Request]) -> Rows:
    sorted_ = [sorted(request.messages[-1].content.parts, key=lambda part: part.raw) for request in asked]
    messages = [(message("user", *parts),) for parts in sorted_]
    yield from parrot.generate_batch([replace(r, messages=m) for r, m in zip(asked, messages, strict=True)])


def drops_what_it_does_not_know(parrot: Parrot, asked: Sequence[Request]) -> Rows:
    kept = [[part for part in request.messages[-1].content.parts if part.kind == "text"] for request in asked]
    yield from parrot.generate_batch(
        [replace(r, messages=(message("user", *k),)) for r, k in zip(asked, kept, strict=True)]
    )


def raises(parrot: Parrot, asked: Sequence[Request]) -> Rows:
    for row, response in parrot.generate_batch(asked):
        if response.error is not None:
            raise ValueError("what is that?")
        yield row, response


def fails_as_internal(parrot: Parrot, asked: Sequence[Request]) -> Rows:
    for row, response in parrot.generate_batch(asked):
        yield row, response if response.error is None else Response.failed("internal", "ValueError")


def takes_its_neighbours_along(parrot: Parrot, asked: Sequence[Request]) -> Rows:
    rows = list(parrot.generate_batch(asked))
    failed = next((response for _, response in rows if response.error is not None), None)
    yield from ((row, failed or response) for row, response in rows)


def says_nothing_of_the_picture(parrot: Parrot, asked: Sequence[Request]) -> Rows:
    for row, response in parrot.generate_batch(asked):
        yield row, response if response.error is None or response.error.kind == "unsupported" else said(response, "yes")


def adds_a_picture(parrot: Parrot, asked: Sequence[Request]) -> Rows:
    for row, response in parrot.generate_batch(asked):
        yield row, with_parts(response, *parts_of(response), media_part(shade(3)))


def drops_the_picture(parrot: Parrot, asked: Sequence[Request]) -> Rows:
    for row, response in parrot.generate_batch(asked):
        yield row, with_parts(response, *(part for part in parts_of(response) if part.media is None))


def turns_the_answer_round(parrot: Parrot, asked: Sequence[Request]) -> Rows:
    for row, response in parrot.generate_batch(asked):
        yield row, with_parts(response, *parts_of(response)[::-1])


def parts_of(response: Response) -> tuple[Part, ...]:
    return () if response.output is None else response.output.parts


def with_parts(response: Response, *parts: Part) -> Response:
    return response if response.output is None else Response(output=Interleaved(parts))


def said(response: Response, text: str) -> Response:
    return response if response.output is None and text != "yes" else Response(output=Interleaved.from_text(text))


@pytest.mark.parametrize("capabilities", [TEXT, TEXT_AND_IMAGE], ids=["text", "text and image"])
def test_a_sound_backend_passes(capabilities: Capabilities) -> None:
    check_backend(Parrot(capabilities))


@pytest.mark.parametrize(
    ("defect", "complaint"),
    [
        (mixes_rows_up, "row 0 was answered in a batch otherwise than alone"),
        (forgets_the_last_row, r"rows \[4\] of a batch of 5 were not answered"),
        (answers_twice, "row 0 was answered twice"),
        (counts_from_one, "a response came for row 5 of a batch of 5"),
        (says_neither, "row 0: neither answer nor error"),
        (pads, "row 0 was answered in a batch otherwise than alone"),
        (is_mute, "all rows have the same answer, 'yes'"),
        (draws_from_the_clock, "was answered with the same seed otherwise than before"),
        (never_draws, "other seeds gave the same answers"),
        (draws_by_the_first_seed, "beside rows with other seeds otherwise than before"),
        (sorts_parts, "their order is lost"),
        (drops_what_it_does_not_know, "a part of the kind image, which is not taken was answered"),
        (raises, "generate_batch raised ValueError: what is that"),
        (fails_as_internal, r"gave the error internal \(ValueError\), none of"),
        (takes_its_neighbours_along, "row 0 was answered beside a row with a part of the kind image"),
        (adds_a_picture, "row 0 holds image, which was not wanted: text was"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_defect_is_named(defect: Callable[[Parrot, Sequence[Request]], Rows], complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_backend(Wrapped(defect))


@pytest.mark.parametrize(
    ("defect", "complaint"),
    [
        (drops_the_picture, "row 0 holds no image, which its capabilities promise"),
        (turns_the_answer_round, r"row 0: image\+text is not text\+image"),
        (says_nothing_of_the_picture, "an unreadable image was answered without a warning: 'yes'"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_defect_with_pictures_is_named(defect: Callable[[Parrot, Sequence[Request]], Rows], complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_backend(Wrapped(defect, TEXT_AND_IMAGE), wants=[("text", "image")])


def test_a_backend_that_never_draws_passes_when_it_says_so() -> None:
    check_backend(Wrapped(never_draws), deterministic=True)


def test_a_backend_that_says_it_never_draws_is_held_to_it() -> None:
    with pytest.raises(AssertionError, match="with another seed otherwise than before"):
        check_backend(Parrot(), deterministic=True)


def test_a_backend_that_fails_is_told_its_own_error() -> None:
    deaf = Parrot(Capabilities(inputs={}))

    with pytest.raises(AssertionError, match=r"row 0 was not answered: the error unsupported \(that is not taken\)"):
        check_rows(deaf, requests([user("hello"), user("you")]))


class Artist(Parrot):
    """Gives a medium made of its words, and of how many rows are asked beside it, times ``step``."""

    def __init__(self, kind: PartKind, make: Callable[[int], Media], step: int) -> None:
        super().__init__(Capabilities.of(("text",), (kind,), "single"))
        self._make, self._step = make, step

    def generate_batch(self, requests: Sequence[Request]) -> Rows:
        for row, request in enumerate(requests):
            number = len(request.messages[-1].content.text) + self._step * len(requests)
            yield row, Response(output=Interleaved((media_part(self._make(number)),)))


def hum(number: int) -> Media:
    return Media.from_bytes(sound("WAV", "FLOAT", value=number / 5000))


@pytest.mark.parametrize(("kind", "make"), [("image", shade), ("audio", hum)], ids=["image", "audio"])
def test_an_imperceptible_difference_is_none(kind: PartKind, make: Callable[[int], Media]) -> None:
    asked = requests([user("a"), user("a longer one"), user("the longest one of all")], wants=(kind,))

    check_batch(Artist(kind, make, 1), asked)
    with pytest.raises(AssertionError, match=f"in a batch otherwise than alone: {kind}"):
        check_batch(Artist(kind, make, 10), asked)


def test_what_is_asked_follows_from_the_capabilities() -> None:
    exclusive = Capabilities.of(("text", "image", "audio"), ("text", "image"), "exclusive")

    assert combinations(exclusive) == [("text",), ("image",)]
    assert combinations(TEXT_AND_IMAGE) == [("text",), ("image",), ("text", "image")]
    kinds = [[part.kind for part in prompt.content.parts] for prompt in usual_prompts(exclusive)]
    assert kinds == [["text", "image", "text"], ["text", "audio", "text"], *[["text", "text"]] * 3]
