"""Questions that find out which kinds of media a model reads.

Each question contains a medium with random content and asks what it shows. A model that
does not read the medium guesses the right reply less than once in 1,000 times. If a
reply is wrong, the numbers of prompt tokens with and without the medium are compared. A
medium that adds no tokens was dropped.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mmeval.backend.handshake import media
from mmeval.backend.probe import Probe, Verdict
from mmeval.errors import MissingExtraError
from mmeval.media.media import Media
from mmeval.media.parts import PartKind
from mmeval.program.calls import Program, Reply, Role, ask_one, excerpt
from mmeval.records.response import HOPELESS
from mmeval.system.wording import shortened

MIN_TOKENS = 8
"""Minimum number of prompt tokens that a medium adds. A placeholder adds fewer."""
MANY_PICTURES = 8
"""Number of pictures in the question about many pictures."""
_ERROR_CHARS = 200
_UNDECIDED = ("refused", "over_limit", "too_long")
"""Errors of a request that do not show whether its media are read."""
TAKES: Mapping[PartKind, str] = {
    "image": "sees pictures",
    "audio": "hears",
    "video": "watches films",
    "document": "reads documents",
}
"""The name of the capability to read each kind of medium, as it is shown to people."""
_TEST_MEDIA: Mapping[PartKind, str] = {
    "image": "the test picture",
    "audio": "the test sound",
    "video": "the test film",
    "document": "the test document",
}
ORDER, AT_ONCE, MANY = (
    "tells two pictures apart",
    "takes several pictures at once",
    "takes eight pictures at once",
)

_PICTURES = (
    "Each picture shows colours side by side and a word in capital letters. For each "
    "picture, in the order in which you received them, write its word, then its "
    f"colours from left to right. The only colours are {', '.join(media.COLOURS)}."
)
_BEEPS = (
    "The sound has four groups of short beeps, with a pause after each group. How many "
    f"beeps has each group? A group has at most {media.MOST_BEEPS}. Answer with four "
    "numbers, separated by spaces."
)
_PAGE = "Write the word that is on the page, and nothing else."
_FILM = (
    "The film shows one colour after another. Write the colours in their order. The "
    f"only colours are {', '.join(media.COLOURS)}."
)
_MANY = (
    "Each picture has one colour. Write the colours of all pictures, in the order in "
    f"which you received them. The only colours are {', '.join(media.COLOURS)}."
)
WITHOUT_MEDIA = (
    "This message has no attachment: no picture, no sound, no film and no document. "
    "Answer with the word ready, and nothing else. The same question with an "
    "attachment has about as many words as this one, so that the server's counts of "
    "prompt tokens can be compared. Nothing else is asked of you here."
)
"""The question without media. It is as long as the longest other question."""


@dataclass(frozen=True)
class Observation:
    """The result of a question about a medium, before comparing prompt tokens."""

    kind: PartKind
    outcome: Literal["right", "wrong", "refused", "failed"]
    """``refused``: the server rejects such media. ``failed``: the call failed with
    another error."""
    evidence: str
    tokens: int = 0
    """The number of prompt tokens that the server reports, or 0 if it reports none."""
    media: int = 1
    others: tuple[Probe, ...] = ()
    """The probes of other capabilities that the same reply shows."""


def compared(observation: Observation, tokens_without: int) -> Probe:
    """Returns the probe of a kind.

    ``tokens_without`` is the number of prompt tokens of :data:`WITHOUT_MEDIA`. It is 0
    if the server does not count tokens.
    """
    verdict: Verdict = "yes"
    evidence = observation.evidence
    if observation.outcome == "refused":
        verdict = "no"
    elif observation.outcome == "failed":
        verdict = "unknown"
    elif observation.outcome == "wrong":
        verdict, evidence = _wrong(observation, tokens_without)
    return Probe(TAKES[observation.kind], verdict, evidence, declared=True)


def _wrong(observation: Observation, tokens_without: int) -> tuple[Verdict, str]:
    tokens, evidence = observation.tokens, observation.evidence
    if tokens and tokens_without:
        added = tokens - tokens_without
        if added < MIN_TOKENS * observation.media:
            counts = (
                f"{tokens} with it, {tokens_without} for a longer "
                "question without media"
            )
            return "no", f"{evidence}; prompt tokens: {counts}"
        return "doubtful", f"{evidence}; but it added {added} prompt tokens"
    # Even small models read pictures and pages, but many cannot count beeps.
    is_easy = observation.kind in ("image", "document")
    return ("no" if is_easy else "doubtful"), evidence


def pictures(role: Role, draw: random.Random, most: int | None) -> Program[Observation]:
    """Asks about two pictures, or about one if ``most`` is 1.

    ``most`` is the maximum number of pictures in a request, or None if it is not known.
    If the server refuses two pictures, it is asked about one picture.
    """
    if most is None or most > 1:
        shown = _two_pictures(draw)
        observation = yield from _ask_about(role, shown)
        if observation.outcome != "refused":
            return observation
        refusal = observation.evidence
        alone = yield from _ask_about(role, [_Picture.drawn(draw, 4)])
        if alone.outcome != "right":
            return alone
        only_one = Probe(AT_ONCE, "no", refusal, declared=True)
        return Observation("image", "right", alone.evidence, others=(only_one,))
    return (yield from _ask_about(role, [_Picture.drawn(draw, 4)]))


@dataclass(frozen=True)
class _Picture:
    word: str
    colours: tuple[str, ...]

    @classmethod
    def drawn(cls, draw: random.Random, stripes: int) -> _Picture:
        return cls(media.word(draw), tuple(media.colours(draw, stripes)))

    @property
    def medium(self) -> Media:
        return media.picture(self.colours, self.word)


def _two_pictures(draw: random.Random) -> list[_Picture]:
    """Returns two pictures with different colours. A reply's colours show their
    order."""
    first = second = _Picture.drawn(draw, 2)
    while second.colours == first.colours:
        second = _Picture.drawn(draw, 2)
    return [first, second]


def _ask_about(role: Role, shown: Sequence[_Picture]) -> Program[Observation]:
    reply = yield from ask_one(
        role.ask(*(picture.medium for picture in shown), _PICTURES, title="handshake")
    )
    text = reply.text
    words = [picture.word for picture in shown]
    flat = [colour for picture in shown for colour in picture.colours]
    turned = [colour for picture in shown[::-1] for colour in picture.colours]
    is_right = _in_order(words, text) or colours_in(text) == flat
    is_turned = _in_order(words[::-1], text) or colours_in(text) == turned
    read = [picture for picture in shown if picture.word in _letters(text)]
    others: tuple[Probe, ...] = ()
    if len(shown) > 1 and is_right:
        others = (Probe(ORDER, "yes", "it described both in their order"),)
    elif len(shown) > 1 and is_turned:
        evidence = "it described both, but the second one first"
        others = (Probe(ORDER, "no", evidence),)
    elif len(shown) > 1 and read:
        others = (_read_one(read[0], text),)
    is_seen = is_right or is_turned or bool(read)
    right = "it named the colours"
    if read:
        right = f"it read {' and '.join(picture.word for picture in read)}"
    return observed(reply, "image", is_seen, right, media=len(shown), others=others)


def _read_one(picture: _Picture, text: str) -> Probe:
    """Returns whether the model takes several pictures, for a reply that contains only
    one of the two words."""
    # A small model may misread the other word, and then it describes two pictures.
    if colours_in(text) == list(picture.colours):
        return Probe(AT_ONCE, "no", "it described only one of two pictures")
    return Probe(AT_ONCE, "doubtful", "it read the word of only one of two pictures")


def beeps(role: Role, draw: random.Random) -> Program[Observation]:
    """Asks for the numbers of beeps in four groups."""
    groups = [draw.randint(1, media.MOST_BEEPS) for _ in range(4)]
    reply = yield from ask_one(role.ask(media.beeps(groups), _BEEPS, title="handshake"))
    numbers = [int(number) for number in re.findall(r"\d{1,3}", reply.text)]
    right = f"it counted {' '.join(map(str, groups))} beeps"
    return observed(reply, "audio", numbers == groups, right)


def page(role: Role, draw: random.Random) -> Program[Observation]:
    """Asks for the word on a page."""
    written = media.word(draw)
    reply = yield from ask_one(role.ask(media.page(written), _PAGE, title="handshake"))
    is_right = written in _letters(reply.text)
    return observed(reply, "document", is_right, f"it read {written}")


def film(role: Role, draw: random.Random) -> Program[Observation]:
    """Asks for the colours of a film in the order in which they appear."""
    shown = media.colours(draw, 4)
    try:
        medium = media.film(shown)
    except MissingExtraError as error:
        return Observation("video", "failed", f"not asked: {error}")
    reply = yield from ask_one(role.ask(medium, _FILM, title="handshake"))
    is_right = colours_in(reply.text) == shown
    return observed(reply, "video", is_right, f"it named {', '.join(shown)}")


QUESTIONS: Mapping[PartKind, Callable[[Role, random.Random], Program[Observation]]] = {
    "audio": beeps,
    "document": page,
    "video": film,
}
"""The question about each kind of medium except pictures (:func:`pictures`)."""


def many_pictures(role: Role, draw: random.Random) -> Program[list[Probe]]:
    """Asks about eight pictures in one request."""
    shown = media.colours(draw, MANY_PICTURES)
    pictures_shown = [media.picture([name]) for name in shown]
    reply = yield from ask_one(role.ask(*pictures_shown, _MANY, title="handshake"))
    named = colours_in(reply.text)
    verdict: Verdict
    if named == shown:
        verdict, evidence = "yes", f"it named {MANY_PICTURES} in their order"
    elif reply.ok:
        verdict = "doubtful"
        evidence = f"it named {len(named)} colours of {MANY_PICTURES} pictures wrongly"
    else:
        verdict, evidence = failure(reply)
    return [Probe(MANY, verdict, evidence)]


def observed(
    reply: Reply,
    kind: PartKind,
    is_right: bool,
    right: str,
    *,
    media: int = 1,
    others: tuple[Probe, ...] = (),
) -> Observation:
    """Returns the observation from a reply. ``right`` is the evidence for a right
    reply."""
    if not reply.ok:
        verdict, evidence = failure(reply)
        return Observation(kind, "refused" if verdict == "no" else "failed", evidence)
    tokens = reply.response.usage.input_tokens
    if is_right:
        return Observation(kind, "right", right, tokens, media, others)
    answer = f"{excerpt(reply.response)!r:.120}"
    if ended_early(reply) and not tokens:
        evidence = f"its answer ended early: {answer}"
        return Observation(kind, "failed", evidence)
    evidence = f"its answer about {_TEST_MEDIA[kind]} was wrong: {answer}"
    return Observation(kind, "wrong", evidence, tokens, media)


def failure(reply: Reply) -> tuple[Verdict, str]:
    """Returns the verdict and the evidence for a reply that contains no answer.

    The verdict is ``no`` if the same request would fail again.
    """
    error = reply.response.error
    assert error is not None
    is_no = error.kind in HOPELESS and error.kind not in _UNDECIDED
    evidence = f"{error.kind}: {shortened(error.message, _ERROR_CHARS)}"
    return ("no" if is_no else "unknown"), evidence


def ended_early(reply: Reply) -> bool:
    """Returns True for an answer that was cut off or refused.

    A reasoning model may use all its tokens before it answers. Such an answer does not
    show that a capability is missing.
    """
    return reply.ok and reply.response.finish_reason != "stop"


def colours_in(text: str) -> list[str]:
    """Returns the names of colours in a text, in the order of the text."""
    # Only whole words count: "colored" and "rendered" contain "red".
    names = "|".join(media.COLOURS)
    return re.findall(f"(?<![a-z])(?:{names})(?![a-z])", text.lower())


def _letters(text: str) -> str:
    """Returns the letters of a text as capitals, because models may spell a word."""
    return re.sub(r"[^A-Z]", "", text.upper())


def _in_order(words: Sequence[str], text: str) -> bool:
    """Returns True if a text contains all words, in this order."""
    letters, end = _letters(text), 0
    for word in words:
        start = letters.find(word, end)
        if start < 0:
            return False
        end = start + len(word)
    return True
