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
from mmeval.media.media import MEDIA_KINDS, Media
from mmeval.media.parts import Interleaved, Part, PartKind, media_part, text_part
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
    kinds = list(capabilities.outputs)
    if "text" in kinds and "code" in kinds:
        kinds.remove("code")
    wants: list[tuple[PartKind, ...]] = [(kind,) for kind in kinds]
    if len(kinds) > 1 and capabilities.output_mode in ("parallel", "interleaved"):
        wants.append(tuple(kinds))
    return wants


def usual_prompts(capabilities: Capabilities) -> list[Message]:
    """Words of several lengths, the first ones each with a medium the backend takes."""
    words = (
        "a hare",
        "tell me what the two of them did",
        "one, two, three",
        "is it so",
        "why not",
    )
    kinds: tuple[PartKind, ...] = ("image", "audio")
    media = [small_media(kind) for kind in kinds if kind in capabilities.inputs]
    prompts: list[Message] = []
    for number, text in enumerate(words):
        shown = media[number : number + 1]
        prompts.append(message("user", text, *shown, "and then"))
    return prompts


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
    wants = asked[0].wants
    mode = backend.capabilities.output_mode
    allowed = {*wants, "reasoning"}
    if "text" in wants:
        allowed.add("code")
    given: set[PartKind] = set()
    for row, response in enumerate(_answers(backend, asked)):
        parts = () if response.output is None else response.output.parts
        # a placeholder that lacks its medium is none of them
        kinds = [part.kind for part in parts if not part.dangling]
        given.update(kinds)
        foreign = sorted(set(kinds) - allowed)
        assert not foreign, (
            f"row {row} holds {'+'.join(foreign)}, which was not wanted: "
            f"{'+'.join(wants)} was"
        )
        for kind in wants:
            is_there = kind in kinds or kind in ("text", "code")
            assert is_there or mode == "interleaved", (
                f"row {row} holds no {kind}, which its capabilities promise"
            )
        order = [wants.index(kind) for kind in kinds if kind in wants]
        assert mode != "parallel" or order == sorted(order), (
            f"row {row}: {'+'.join(kinds)} is not {'+'.join(wants)}"
        )
    for kind in wants:
        assert kind in given, f"no answer holds {kind}, which its capabilities promise"


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
    again = _answers(backend, drawn)
    _expect_same(first, again, "with the same seed otherwise than before")
    others = _answers(backend, _with_other_seeds(drawn))
    pairs = zip(first, others, strict=True)
    assert any(not _same(one, other) for one, other in pairs), (
        "other seeds gave the same answers: the seed of a request must change the "
        "answers at temperature 1 (a model "
        "that never draws: deterministic=True, or --skip seeds)"
    )


def check_no_draws(backend: BatchBackend, asked: Sequence[Request]) -> None:
    """Check that at temperature 1 every seed gives the same answers.
    For a backend that never draws, instead of :func:`check_seeds`."""
    drawn = [_at_temperature(1.0, request) for request in asked]
    others = _answers(backend, _with_other_seeds(drawn))
    first = _answers(backend, drawn)
    _expect_same(first, others, "with another seed otherwise than before")


def check_neighbours(backend: BatchBackend, asked: Sequence[Request]) -> None:
    """Check at temperature 1 that no answer depends on other rows, seeds or places."""
    drawn = [_at_temperature(1.0, request) for request in asked]
    together = _answers(backend, drawn)
    alone = _answers(backend, drawn[:1])
    _expect_same(together[:1], alone, "alone otherwise than beside others")
    others = _with_other_seeds(drawn[1:])
    moved = _answers(backend, [*others, drawn[0]])[-1:]
    how = "beside rows with other seeds otherwise than before"
    _expect_same(together[:1], moved, how)


def check_order(backend: BatchBackend, asked: Sequence[Request]) -> None:
    """Check that order of parts matters: reversed, some prompt has another answer."""
    greedy: list[Request] = []
    turned: list[Request] = []
    for request in asked:
        *before, last = request.messages
        if len(last.content.parts) < 2:
            continue
        reversed_last = Message(last.role, Interleaved(last.content.parts[::-1]))
        other = replace(request, messages=(*before, reversed_last))
        greedy.append(_at_temperature(0.0, request))
        turned.append(_at_temperature(0.0, other))
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
    inputs = backend.capabilities.inputs
    bad_parts: list[tuple[str, Part]] = []
    for kind in MEDIA_KINDS:
        if kind not in inputs:
            part = media_part(small_media(kind), kind)
            bad_parts.append((f"a part of the kind {kind}, which is not taken", part))
    for taken, medium in UNREADABLE.items():
        if taken in inputs:
            bad_parts.append((f"an unreadable {taken}", media_part(medium, taken)))
    for name, part in bad_parts:
        bad = replace(first, messages=(message("user", text_part("look "), part),))
        before, refused, after = _answers(backend, [first, bad, last])
        how = f"beside a row with {name} otherwise than without"
        _expect_same(expected, [before, after], how)
        if refused.error is None:
            assert part.kind in inputs, f"{name} was answered: {_shown(refused)}"
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


def _with_other_seeds(asked: Sequence[Request]) -> list[Request]:
    return [request.with_seed(request.seed + 1000) for request in asked]


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
        if one.error is None or other.error is None:
            return False
        return one.error.kind == other.error.kind
    if len(one.output.parts) != len(other.output.parts):
        return False
    for ours, theirs in zip(one.output.parts, other.output.parts, strict=True):
        is_same = (ours.kind, ours.text) == (theirs.kind, theirs.text)
        if not is_same or not _are_close(ours.media, theirs.media):
            return False
    return True


def _are_close(one: Media | None, other: Media | None) -> bool:
    import numpy as np

    from mmeval.media import decode

    if one is None or other is None or one == other:
        return one == other
    if one.kind != other.kind or one.kind not in ("image", "audio"):
        return False
    if one.kind == "image":
        pixels = np.asarray(decode.image(one), dtype=np.int16)
        others = np.asarray(decode.image(other), dtype=np.int16)
        if pixels.shape != others.shape:
            return False
        return bool(np.abs(pixels - others).max() <= PIXEL_TOLERANCE)
    sound = decode.audio(one)
    other_sound = decode.audio(other)
    samples = sound.samples
    other_samples = other_sound.samples
    if sound.rate != other_sound.rate or samples.shape != other_samples.shape:
        return False
    return bool(np.abs(samples - other_samples).max() <= SAMPLE_TOLERANCE)


def _shown(response: Response) -> str:
    if response.error is not None:
        return f"the error {response.error.kind} ({response.error.words})"
    shown: list[str] = []
    for part in response.output.parts if response.output is not None else ():
        if part.media is None:
            shown.append(repr(part.text))
        else:
            shown.append(f"{part.kind} {part.media.sha256[:8]}")
    return " + ".join(shown) or "nothing"
