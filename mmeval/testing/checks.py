"""A conformance kit for authors of batch backends and adapters: what the core and its users rely on, as checks.

    check_backend(MyBackend(pretrained="some/folder"))

Every check asks the backend itself and raises AssertionError with a sentence that says what does not hold. Take a small
model: each kind that it gives is asked a few dozen times. Pictures and sounds count as the same when nobody could see
or hear a difference, because sums over a batch may be rounded otherwise than alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from mmeval.backend.capabilities import Capabilities
from mmeval.backend.contract import BatchBackend
from mmeval.content.media import Media
from mmeval.content.parts import PART_KINDS, Interleaved, Part, PartKind, media_part, text_part
from mmeval.errors import Caught
from mmeval.records.request import GenerationParams, Request
from mmeval.records.response import HOPELESS, Response
from mmeval.records.sample import Message, message
from mmeval.testing.media import UNREADABLE, small_media

PIXEL_TOLERANCE = 3
"""Levels of 255 by which a pixel may differ."""
SAMPLE_TOLERANCE = 1e-3
"""Of full scale, by which a sample of a sound may differ."""
FEW_TOKENS = GenerationParams(max_tokens=16)

Check = Callable[[BatchBackend, Sequence[Request]], None]
"""Takes requests that are equal in ``wants`` and ``params``, at least three, with different answers."""


def check_backend(
    backend: BatchBackend,
    prompts: Sequence[Message] = (),
    *,
    params: GenerationParams = FEW_TOKENS,
    wants: Sequence[Sequence[PartKind]] = (),
    deterministic: bool = False,
) -> None:
    """All checks of ``CHECKS``, for everything that the backend says it gives. It is started first.

    ``prompts`` are user messages to which it has different answers; unless given, words, and media of the kinds that it
    takes. ``wants`` are the combinations of kinds to ask for, unless given those of :func:`combinations`.
    ``deterministic`` says that it never draws: then other seeds must give the same answers instead of others.
    """
    checks = [check_no_draws if deterministic and check is check_seeds else check for check in CHECKS]
    start(backend)
    for kinds in wants or combinations(backend.capabilities):
        asked = requests(prompts or usual_prompts(backend.capabilities), wants=kinds, params=params)
        for check in checks:
            check(backend, asked)


def start(backend: BatchBackend) -> None:
    """Load what the backend loads before its first request, as the core does."""
    begin = getattr(backend, "start", None)
    if begin is not None:
        begin()


def combinations(capabilities: Capabilities) -> list[tuple[PartKind, ...]]:
    """What can be asked for: each kind alone and, where several come in one call, all of them together."""
    kinds = tuple(kind for kind in capabilities.outputs if kind != "code" or "text" not in capabilities.outputs)
    alone = [(kind,) for kind in kinds]
    together = capabilities.output_mode in ("parallel", "interleaved") and len(kinds) > 1
    return [*alone, kinds] if together else [*alone]


def usual_prompts(capabilities: Capabilities) -> list[Message]:
    """Words of several lengths, each with a medium of a kind that the backend takes where there is one left."""
    words = ("a hare", "tell me what the two of them did", "one, two, three", "is it so", "why not")
    media = [small_media(kind) for kind in ("image", "audio") if kind in capabilities.inputs]
    shown = [*((medium,) for medium in media), *((),) * len(words)]
    return [message("user", text, *medium, "and then") for text, medium in zip(words, shown, strict=False)]


def requests(
    prompts: Sequence[Message], *, wants: Sequence[PartKind] = ("text",), params: GenerationParams = FEW_TOKENS
) -> list[Request]:
    """One request a prompt, each with a seed of its own."""
    return [Request((prompt,), params, tuple(wants), seed) for seed, prompt in enumerate(prompts, 1)]


def check_rows(backend: BatchBackend, asked: Sequence[Request]) -> None:
    """Each row is answered once, and the answers are not all alike (else the other checks could see nothing)."""
    found = _answers(backend, asked)
    for row, response in enumerate(found):
        assert response.error is None, f"row {row} was not answered: {_shown(response)}"
    assert any(not _same(found[0], other) for other in found[1:]), (
        f"all rows have the same answer, {_shown(found[0])}: no mix-up could be seen; give prompts with other answers"
    )


def check_kinds(backend: BatchBackend, asked: Sequence[Request]) -> None:
    """The answers hold what was wanted and nothing else; of parallel kinds, in the order in which they were wanted."""
    wants, mode = asked[0].wants, backend.capabilities.output_mode
    found = [_kinds(response) for response in _answers(backend, asked)]
    allowed = {*wants, "reasoning", *(("code",) if "text" in wants else ())}
    for row, kinds in enumerate(found):
        foreign = sorted(set(kinds) - allowed)
        assert not foreign, f"row {row} holds {'+'.join(foreign)}, which nobody wanted: {'+'.join(wants)} was wanted"
        lacking = [kind for kind in wants if kind not in kinds and kind not in ("text", "code")]
        assert not lacking or mode == "interleaved", f"row {row} holds no {lacking[0]}, which its capabilities promise"
        order = [wants.index(kind) for kind in kinds if kind in wants]
        assert mode != "parallel" or order == sorted(order), f"row {row}: {'+'.join(kinds)} is not {'+'.join(wants)}"
    for kind in wants:
        assert any(kind in kinds for kinds in found), f"no answer holds {kind}, which its capabilities promise"


def check_batch(backend: BatchBackend, asked: Sequence[Request]) -> None:
    """At temperature 0 a row in a batch has the answer that it has alone, wherever in the batch it stands."""
    greedy = [_at_temperature(0.0, request) for request in asked]
    alone = [_answers(backend, [request])[0] for request in greedy]
    _expect_same(alone, _answers(backend, greedy), "in a batch otherwise than alone")
    _expect_same(alone, _answers(backend, greedy[::-1])[::-1], "in a batch in another order otherwise than alone")


def check_seeds(backend: BatchBackend, asked: Sequence[Request]) -> None:
    """At temperature 1 the same seed gives the same answers, and other seeds give others."""
    drawn = [_at_temperature(1.0, request) for request in asked]
    first = _answers(backend, drawn)
    _expect_same(first, _answers(backend, drawn), "with the same seed otherwise than before")
    other = _answers(backend, [request.with_seed(request.seed + 1000) for request in drawn])
    assert any(not _same(one, two) for one, two in zip(first, other, strict=True)), (
        "other seeds gave the same answers: the seed of a request must steer what is drawn at temperature 1"
    )


def check_no_draws(backend: BatchBackend, asked: Sequence[Request]) -> None:
    """In the place of :func:`check_seeds`, of a backend that never draws: at temperature 1 every seed gives the same
    answers."""
    drawn = [_at_temperature(1.0, request) for request in asked]
    other = _answers(backend, [request.with_seed(request.seed + 1000) for request in drawn])
    _expect_same(_answers(backend, drawn), other, "with another seed otherwise than before")


def check_neighbours(backend: BatchBackend, asked: Sequence[Request]) -> None:
    """At temperature 1 a row's answer depends on its own seed alone: not on its neighbours, their seeds or places."""
    drawn = [_at_temperature(1.0, request) for request in asked]
    together = _answers(backend, drawn)
    alone = _answers(backend, drawn[:1])
    _expect_same(together[:1], alone, "alone otherwise than beside others")
    others = [request.with_seed(request.seed + 1000) for request in drawn[1:]]
    moved = _answers(backend, [*others, drawn[0]])[-1:]
    _expect_same(together[:1], moved, "beside rows with other seeds otherwise than before")


def check_order(backend: BatchBackend, asked: Sequence[Request]) -> None:
    """The order of a prompt's parts reaches the model: turned round, at least one prompt has another answer."""
    greedy = [_at_temperature(0.0, request) for request in asked if len(request.messages[-1].content.parts) > 1]
    turned = [replace(request, messages=_turned_round(request.messages)) for request in greedy]
    pairs = zip(_answers(backend, greedy), _answers(backend, turned), strict=True)
    assert not greedy or any(not _same(one, two) for one, two in pairs), (
        "no answer changed when the parts of the prompts were turned round: their order is lost on the way"
    )


def check_refusals(backend: BatchBackend, asked: Sequence[Request]) -> None:
    """A row with a kind that is not taken, or with a medium that cannot be read, gets a typed error (or, where that
    medium does not matter, a warning), and the rows beside it get their own answers."""
    first, last = (_at_temperature(0.0, request) for request in asked[:2])
    expected = _answers(backend, [first, last])
    for name, part in _bad_parts(backend.capabilities):
        bad = replace(first, messages=(message("user", text_part("look "), part),))
        before, refused, after = _answers(backend, [first, bad, last])
        _expect_same(expected, [before, after], f"beside a row with {name} otherwise than without")
        if refused.error is None:
            assert part.kind in backend.capabilities.inputs, f"{name} was answered: {_shown(refused)}"
            assert refused.warnings, f"{name} was answered without a warning: {_shown(refused)}"
        else:
            assert refused.error.kind in HOPELESS, f"{name} gave {_shown(refused)}, none of {', '.join(HOPELESS)}"


CHECKS: tuple[Check, ...] = (
    check_rows,
    check_kinds,
    check_batch,
    check_seeds,
    check_neighbours,
    check_order,
    check_refusals,
)


def _bad_parts(capabilities: Capabilities) -> list[tuple[str, Part]]:
    """A part of each kind of medium that is not taken, and one that cannot be read of those that are."""
    media = [kind for kind in PART_KINDS if kind not in ("text", "code", "reasoning")]
    foreign = [kind for kind in media if kind not in capabilities.inputs]
    broken = [kind for kind in UNREADABLE if kind in capabilities.inputs]
    return [
        *((f"a part of the kind {kind}, which is not taken", media_part(small_media(kind), kind)) for kind in foreign),
        *((f"an unreadable {kind}", media_part(UNREADABLE[kind], kind)) for kind in broken),
    ]


def _answers(backend: BatchBackend, asked: Sequence[Request]) -> list[Response]:
    """One response a row, by position."""
    found: dict[int, Response] = {}
    with Caught(AssertionError) as failure:
        for position, response in backend.generate_batch(asked):
            assert 0 <= position < len(asked), f"a response came for row {position} of a batch of {len(asked)}"
            assert position not in found, f"row {position} was answered twice"
            assert (response.output is None) != (response.error is None), f"row {position}: neither answer nor error"
            found[position] = response
    if failure:
        raise AssertionError(
            f"generate_batch raised {failure.reason}; a row that fails is answered by Response.failed"
        ) from failure.error
    missing = [row for row in range(len(asked)) if row not in found]
    assert not missing, f"rows {missing} of a batch of {len(asked)} were not answered"
    return [found[row] for row in range(len(asked))]


def _at_temperature(temperature: float, request: Request) -> Request:
    return replace(request, params=replace(request.params, temperature=temperature))


def _turned_round(messages: Sequence[Message]) -> tuple[Message, ...]:
    last = messages[-1]
    return (*messages[:-1], Message(last.role, Interleaved(last.content.parts[::-1])))


def _expect_same(expected: Sequence[Response], found: Sequence[Response], how: str) -> None:
    for row, (one, other) in enumerate(zip(expected, found, strict=True)):
        assert _same(one, other), f"row {row} was answered {how}: {_shown(other)}, not {_shown(one)}"


def _same(one: Response, other: Response) -> bool:
    """Whether two responses are the same to a reader, who cannot see the last bit of a pixel."""
    if one.output is None or other.output is None:
        return one.error is not None and other.error is not None and one.error.kind == other.error.kind
    ours, theirs = one.output.parts, other.output.parts
    return len(ours) == len(theirs) and all(map(_same_part, ours, theirs))


def _same_part(one: Part, other: Part) -> bool:
    if one.kind != other.kind or one.text != other.text or (one.media is None) != (other.media is None):
        return False
    if one.media is None or other.media is None or one.media == other.media:
        return True
    return _close_media(one.media, other.media)


def _close_media(one: Media, other: Media) -> bool:
    import numpy as np

    from mmeval import decode

    if one.kind != other.kind or one.kind not in ("image", "audio"):
        return False
    if one.kind == "image":
        pixels = [np.asarray(decode.image(medium), dtype=np.int16) for medium in (one, other)]
        return pixels[0].shape == pixels[1].shape and bool(np.abs(pixels[0] - pixels[1]).max() <= PIXEL_TOLERANCE)
    sounds = [decode.audio(medium) for medium in (one, other)]
    ours, theirs = (sound.samples for sound in sounds)
    alike = sounds[0].rate == sounds[1].rate and ours.shape == theirs.shape
    return alike and bool(np.abs(ours - theirs).max() <= SAMPLE_TOLERANCE)


def _kinds(response: Response) -> list[str]:
    """The kinds of an answer's parts; a placeholder without its medium is none of them."""
    return [] if response.output is None else [part.kind for part in response.output.parts if not part.dangling]


def _shown(response: Response) -> str:
    if response.error is not None:
        return f"the error {response.error.kind} ({response.error.message})"
    parts = response.output.parts if response.output is not None else ()
    shown = [repr(part.text) if part.media is None else f"{part.kind} {part.media.sha256[:8]}" for part in parts]
    return " + ".join(shown) or "nothing"
