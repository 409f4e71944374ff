"""Conformance checks for authors of batch backends and adapters.

    check_backend(MyBackend(pretrained="some/folder"))

Every check asks the backend itself and raises AssertionError with a sentence about the
fault. Use a small model: each kind that it gives is asked a few dozen times. Pictures
and sounds with invisible or inaudible differences count as the same, because sums over
a batch may be rounded differently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from mmeval.authoring.testing.media import UNREADABLE, small_media
from mmeval.backend.capabilities import Capabilities
from mmeval.backend.contract import BatchBackend
from mmeval.media.media import Media
from mmeval.media.parts import (
    PART_KINDS,
    Interleaved,
    Part,
    PartKind,
    media_part,
    text_part,
)
from mmeval.records.request import GenerationParams, Request
from mmeval.records.response import HOPELESS, Response
from mmeval.records.sample import Message, message

PIXEL_TOLERANCE = 3
"""Levels of 255 by which a pixel may differ."""
SAMPLE_TOLERANCE = 1e-3
"""Share of full scale by which a sample of a sound may differ."""
FEW_TOKENS = GenerationParams(max_tokens=16)

BatchCheck = Callable[[BatchBackend, Sequence[Request]], None]
"""A check of at least three requests that are equal in ``wants`` and ``params`` and
have different answers."""


class CheckResult(NamedTuple):
    """What a check of some wanted kinds has found; no ``fault``: it holds."""

    check: str
    wants: tuple[PartKind, ...]
    fault: AssertionError | None


def check_backend(
    backend: BatchBackend,
    prompts: Sequence[Message] = (),
    *,
    params: GenerationParams = FEW_TOKENS,
    wants: Sequence[Sequence[PartKind]] = (),
    deterministic: bool = False,
) -> None:
    """Start the backend and run all ``CHECKS``, for every kind among its capabilities.

    ``prompts`` are user messages to which it has different answers; by default words,
    and media of the kinds that it takes. ``wants`` are the combinations of kinds to ask
    for, by default those of :func:`combinations`. ``deterministic``: it never draws, so
    that other seeds must give the same answers.
    """
    start(backend)
    checks = {**CHECKS, "seeds": check_no_draws} if deterministic else CHECKS
    for result in check_results(
        backend, prompts, checks=checks, params=params, wants=wants
    ):
        if result.fault is not None:
            raise result.fault


def check_results(
    backend: BatchBackend,
    prompts: Sequence[Message] = (),
    *,
    checks: Mapping[str, BatchCheck],
    params: GenerationParams = FEW_TOKENS,
    wants: Sequence[Sequence[PartKind]] = (),
) -> Iterator[CheckResult]:
    """The results of some checks of a started backend, one after the other; see
    :func:`check_backend`."""
    for kinds in wants or combinations(backend.capabilities):
        asked = requests(
            prompts or usual_prompts(backend.capabilities), wants=kinds, params=params
        )
        for name, check in checks.items():
            fault = None
            try:
                check(backend, asked)
            except AssertionError as error:
                fault = error
            yield CheckResult(name, tuple(kinds), fault)


def start(backend: BatchBackend) -> None:
    """Load what the backend loads before its first request, as the core does."""
    begin = getattr(backend, "start", None)
    if begin is not None:
        begin()


def combinations(capabilities: Capabilities) -> list[tuple[PartKind, ...]]:
    """The kinds to ask for: each alone and, if one call gives several, all together."""
    kinds = tuple(
        kind
        for kind in capabilities.outputs
        if kind != "code" or "text" not in capabilities.outputs
    )
    alone = [(kind,) for kind in kinds]
    together = (
        capabilities.output_mode in ("parallel", "interleaved") and len(kinds) > 1
    )
    return [*alone, kinds] if together else list(alone)


def usual_prompts(capabilities: Capabilities) -> list[Message]:
    """Words of several lengths, the first ones each with a medium the backend takes."""
    words = (
        "a hare",
        "tell me what the two of them did",
        "one, two, three",
        "is it so",
        "why not",
    )
    media = [
        small_media(kind) for kind in ("image", "audio") if kind in capabilities.inputs
    ]
    shown = [*((medium,) for medium in media), *((),) * len(words)]
    return [
        message("user", text, *medium, "and then")
        for text, medium in zip(words, shown, strict=False)
    ]


def requests(
    prompts: Sequence[Message],
    *,
    wants: Sequence[PartKind] = ("text",),
    params: GenerationParams = FEW_TOKENS,
) -> list[Request]:
    """One request for each prompt, with different seeds."""
    return [
        Request((prompt,), params, tuple(wants), seed)
        for seed, prompt in enumerate(prompts, 1)
    ]


def check_rows(backend: BatchBackend, asked: Sequence[Request]) -> None:
    """Check that each row is answered once, and answers differ (or no mix-up shows)."""
    found = _answers(backend, asked)
    for row, response in enumerate(found):
        assert response.error is None, f"row {row} was not answered: {_shown(response)}"
    assert any(not _same(found[0], other) for other in found[1:]), (
        f"all rows have the same answer, {_shown(found[0])}: no mix-up could be "
        "found; give prompts with other answers"
    )


def check_kinds(backend: BatchBackend, asked: Sequence[Request]) -> None:
    """Check that answers have the wanted kinds only; parallel ones in wanted order."""
    wants, mode = asked[0].wants, backend.capabilities.output_mode
    found = [_kinds(response) for response in _answers(backend, asked)]
    allowed = {*wants, "reasoning", *(("code",) if "text" in wants else ())}
    for row, kinds in enumerate(found):
        foreign = sorted(set(kinds) - allowed)
        assert not foreign, (
            f"row {row} holds {'+'.join(foreign)}, which was not wanted: "
            f"{'+'.join(wants)} was"
        )
        lacking = [
            kind for kind in wants if kind not in kinds and kind not in ("text", "code")
        ]
        assert not lacking or mode == "interleaved", (
            f"row {row} holds no {lacking[0]}, which its capabilities promise"
        )
        order = [wants.index(kind) for kind in kinds if kind in wants]
        assert mode != "parallel" or order == sorted(order), (
            f"row {row}: {'+'.join(kinds)} is not {'+'.join(wants)}"
        )
    for kind in wants:
        assert any(kind in kinds for kinds in found), (
            f"no answer holds {kind}, which its capabilities promise"
        )


def check_batch(backend: BatchBackend, asked: Sequence[Request]) -> None:
    """Check that at temperature 0 a row's answer is the same, alone or in any batch."""
    greedy = [_at_temperature(0.0, request) for request in asked]
    alone = [_answers(backend, [request])[0] for request in greedy]
    _expect_same(alone, _answers(backend, greedy), "in a batch otherwise than alone")
    _expect_same(
        alone,
        _answers(backend, greedy[::-1])[::-1],
        "in a batch in another order otherwise than alone",
    )


def check_seeds(backend: BatchBackend, asked: Sequence[Request]) -> None:
    """Check that at temperature 1 equal seeds give equal answers, other seeds
    others."""
    drawn = [_at_temperature(1.0, request) for request in asked]
    first = _answers(backend, drawn)
    _expect_same(
        first, _answers(backend, drawn), "with the same seed otherwise than before"
    )
    other = _answers(
        backend, [request.with_seed(request.seed + 1000) for request in drawn]
    )
    assert any(not _same(one, two) for one, two in zip(first, other, strict=True)), (
        "other seeds gave the same answers: the seed of a request must change the "
        "answers at temperature 1 (a model "
        "that never draws: deterministic=True, or --skip seeds)"
    )


def check_no_draws(backend: BatchBackend, asked: Sequence[Request]) -> None:
    """Check that at temperature 1 every seed gives the same answers.
    For a backend that never draws, instead of :func:`check_seeds`."""
    drawn = [_at_temperature(1.0, request) for request in asked]
    other = _answers(
        backend, [request.with_seed(request.seed + 1000) for request in drawn]
    )
    _expect_same(
        _answers(backend, drawn), other, "with another seed otherwise than before"
    )


def check_neighbours(backend: BatchBackend, asked: Sequence[Request]) -> None:
    """Check at temperature 1 that no answer depends on other rows, seeds or places."""
    drawn = [_at_temperature(1.0, request) for request in asked]
    together = _answers(backend, drawn)
    alone = _answers(backend, drawn[:1])
    _expect_same(together[:1], alone, "alone otherwise than beside others")
    others = [request.with_seed(request.seed + 1000) for request in drawn[1:]]
    moved = _answers(backend, [*others, drawn[0]])[-1:]
    _expect_same(
        together[:1], moved, "beside rows with other seeds otherwise than before"
    )


def check_order(backend: BatchBackend, asked: Sequence[Request]) -> None:
    """Check that order of parts matters: reversed, some prompt has another answer."""
    greedy = [
        _at_temperature(0.0, request)
        for request in asked
        if len(request.messages[-1].content.parts) > 1
    ]
    turned = []
    for request in greedy:
        *before, last = request.messages
        reversed_last = Message(last.role, Interleaved(last.content.parts[::-1]))
        turned.append(replace(request, messages=(*before, reversed_last)))
    pairs = zip(_answers(backend, greedy), _answers(backend, turned), strict=True)
    assert not greedy or any(not _same(one, two) for one, two in pairs), (
        "no answer changed when the parts of the prompts were reversed: their order "
        "is lost"
    )


def check_refusals(backend: BatchBackend, asked: Sequence[Request]) -> None:
    """Check that a bad row gets a typed error and that other rows keep their answers.
    It has an unsupported kind, or a medium that cannot be read; a warning is enough
    where that does not matter."""
    first, last = (_at_temperature(0.0, request) for request in asked[:2])
    expected = _answers(backend, [first, last])
    for name, part in _bad_parts(backend.capabilities):
        bad = replace(first, messages=(message("user", text_part("look "), part),))
        before, refused, after = _answers(backend, [first, bad, last])
        _expect_same(
            expected,
            [before, after],
            f"beside a row with {name} otherwise than without",
        )
        if refused.error is None:
            assert part.kind in backend.capabilities.inputs, (
                f"{name} was answered: {_shown(refused)}"
            )
            assert refused.warnings, (
                f"{name} was answered without a warning: {_shown(refused)}"
            )
        else:
            assert refused.error.kind in HOPELESS, (
                f"{name} gave {_shown(refused)}, none of {', '.join(HOPELESS)}"
            )


CHECKS: Mapping[str, BatchCheck] = {
    "rows": check_rows,
    "kinds": check_kinds,
    "batch": check_batch,
    "seeds": check_seeds,
    "neighbours": check_neighbours,
    "order": check_order,
    "refusals": check_refusals,
}
"""By the names that ``mmeval try backend`` gives them."""


def _bad_parts(capabilities: Capabilities) -> list[tuple[str, Part]]:
    """A part of each unsupported kind, and an unreadable one of each supported kind."""
    media = [kind for kind in PART_KINDS if kind not in ("text", "code", "reasoning")]
    foreign = [kind for kind in media if kind not in capabilities.inputs]
    broken = [kind for kind in UNREADABLE if kind in capabilities.inputs]
    return [
        *(
            (
                f"a part of the kind {kind}, which is not taken",
                media_part(small_media(kind), kind),
            )
            for kind in foreign
        ),
        *(
            (f"an unreadable {kind}", media_part(UNREADABLE[kind], kind))
            for kind in broken
        ),
    ]


def _answers(backend: BatchBackend, asked: Sequence[Request]) -> list[Response]:
    found: dict[int, Response] = {}
    try:
        for position, response in backend.generate_batch(asked):
            assert 0 <= position < len(asked), (
                f"a response came for row {position} of a batch of {len(asked)}"
            )
            assert position not in found, f"row {position} was answered twice"
            assert (response.output is None) != (response.error is None), (
                f"row {position}: neither answer nor error"
            )
            found[position] = response
    except AssertionError:
        raise
    # a plugin's backend may raise anything and call sys.exit
    except (Exception, SystemExit) as error:
        raise AssertionError(
            f"generate_batch raised {type(error).__name__}: {error}; a row that fails "
            "is answered by Response.failed"
        ) from error
    missing = [row for row in range(len(asked)) if row not in found]
    assert not missing, f"rows {missing} of a batch of {len(asked)} were not answered"
    return [found[row] for row in range(len(asked))]


def _at_temperature(temperature: float, request: Request) -> Request:
    return replace(request, params=replace(request.params, temperature=temperature))


def _expect_same(
    expected: Sequence[Response], found: Sequence[Response], how: str
) -> None:
    for row, (one, other) in enumerate(zip(expected, found, strict=True)):
        assert _same(one, other), (
            f"row {row} was answered {how}: {_shown(other)}, not {_shown(one)}"
        )


def _same(one: Response, other: Response) -> bool:
    """Whether two responses are equal within the tolerances."""
    if one.output is None or other.output is None:
        return (
            one.error is not None
            and other.error is not None
            and one.error.kind == other.error.kind
        )
    ours, theirs = one.output.parts, other.output.parts
    return len(ours) == len(theirs) and all(map(_same_part, ours, theirs))


def _same_part(one: Part, other: Part) -> bool:
    if (
        one.kind != other.kind
        or one.text != other.text
        or (one.media is None) != (other.media is None)
    ):
        return False
    if one.media is None or other.media is None or one.media == other.media:
        return True
    return _close_media(one.media, other.media)


def _close_media(one: Media, other: Media) -> bool:
    import numpy as np

    from mmeval.media import decode

    if one.kind != other.kind or one.kind not in ("image", "audio"):
        return False
    if one.kind == "image":
        pixels = [
            np.asarray(decode.image(medium), dtype=np.int16) for medium in (one, other)
        ]
        return pixels[0].shape == pixels[1].shape and bool(
            np.abs(pixels[0] - pixels[1]).max() <= PIXEL_TOLERANCE
        )
    sounds = [decode.audio(medium) for medium in (one, other)]
    ours, theirs = (sound.samples for sound in sounds)
    alike = sounds[0].rate == sounds[1].rate and ours.shape == theirs.shape
    return alike and bool(np.abs(ours - theirs).max() <= SAMPLE_TOLERANCE)


def _kinds(response: Response) -> list[str]:
    """The kinds of an answer's parts, without placeholders that lack their medium."""
    return (
        []
        if response.output is None
        else [part.kind for part in response.output.parts if not part.dangling]
    )


def _shown(response: Response) -> str:
    if response.error is not None:
        return f"the error {response.error.kind} ({response.error.words})"
    parts = response.output.parts if response.output is not None else ()
    shown = [
        repr(part.text)
        if part.media is None
        else f"{part.kind} {part.media.sha256[:8]}"
        for part in parts
    ]
    return " + ".join(shown) or "nothing"
