"""Conformance checks for authors of batch backends and adapters.

    check_backend(MyBackend(pretrained="some/folder"))

Every check calls the backend and raises AssertionError with a message that describes
the fault. Use a small model: each output kind needs a few dozen requests. Pictures with
invisible differences, and sounds with inaudible differences, are treated as equal,
because sums over a batch may be rounded differently.
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
"""The largest allowed difference of a pixel's level, on a scale of 0 to 255."""
SAMPLE_TOLERANCE = 1e-3
"""The largest allowed difference of a sample of a sound, as a share of full scale."""
FEW_TOKENS = GenerationParams(max_tokens=16)

BatchCheck = Callable[[BatchBackend, Sequence[Request]], None]
"""A check of a backend with at least three requests. The requests have the same
``wants`` and ``params``, and lead to different answers."""


class CheckResult(NamedTuple):
    """The result of one check with one combination of output kinds. If ``fault`` is
    None, the check passed."""

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
    """Start the backend and run all ``CHECKS``, for every output kind of its
    capabilities.

    ``prompts`` are user messages with different answers. By default they contain words,
    and media of the input kinds. ``wants`` are the combinations of kinds to request, by
    default the combinations of ``combinations``. Set ``deterministic`` if the model
    never samples, so that different seeds must lead to the same answers.
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
    """Run checks of a started backend and yield their results; see
    :func:`check_backend`."""
    for kinds in wants or combinations(backend.capabilities):
        batch = requests(
            prompts or usual_prompts(backend.capabilities), wants=kinds, params=params
        )
        for name, check in checks.items():
            fault = None
            try:
                check(backend, batch)
            except AssertionError as error:
                fault = error
            yield CheckResult(name, tuple(kinds), fault)


def start(backend: BatchBackend) -> None:
    """Load what the backend loads before its first request, as the core does."""
    begin = getattr(backend, "start", None)
    if begin is not None:
        begin()


def combinations(capabilities: Capabilities) -> list[tuple[PartKind, ...]]:
    """Returns the combinations of kinds to request. Each kind is requested alone. If
    one call can return several kinds, all are also requested together."""
    kinds = list(capabilities.outputs)
    if "text" in kinds and "code" in kinds:
        kinds.remove("code")
    wants: list[tuple[PartKind, ...]] = [(kind,) for kind in kinds]
    if len(kinds) > 1 and capabilities.output_mode in ("parallel", "interleaved"):
        wants.append(tuple(kinds))
    return wants


def usual_prompts(capabilities: Capabilities) -> list[Message]:
    """Returns prompts of different lengths. The first prompts also contain a medium
    that the backend accepts. All contain the media that the backend requires."""
    words = (
        "a hare",
        "tell me what the two of them did",
        "one, two, three",
        "is it so",
        "why not",
    )
    kinds: tuple[PartKind, ...] = ("image", "audio")
    required = [small_media(kind) for kind in sorted(capabilities.required_inputs)]
    media = [small_media(kind) for kind in kinds if kind in capabilities.inputs]
    prompts: list[Message] = []
    for number, text in enumerate(words):
        shown = required or media[number : number + 1]
        prompts.append(message("user", text, *shown, "and then"))
    return prompts


def requests(
    prompts: Sequence[Message],
    *,
    wants: Sequence[PartKind] = ("text",),
    params: GenerationParams = FEW_TOKENS,
) -> list[Request]:
    """Returns one request for each prompt, with different seeds."""
    return [
        Request((prompt,), params, tuple(wants), seed)
        for seed, prompt in enumerate(prompts, 1)
    ]


def check_rows(backend: BatchBackend, batch: Sequence[Request]) -> None:
    """Check that each row is answered once, and that the answers differ: equal answers
    could hide a mix-up of rows."""
    responses = _answers(backend, batch)
    for row, response in enumerate(responses):
        assert response.error is None, f"row {row} was not answered: {_shown(response)}"
    assert any(not _same(responses[0], other) for other in responses[1:]), (
        f"all rows have the same answer, {_shown(responses[0])}, so a mix-up of rows "
        "cannot be detected; give prompts with different answers"
    )


def check_kinds(backend: BatchBackend, batch: Sequence[Request]) -> None:
    """Check that answers contain only the requested kinds. Parallel outputs must be in
    the requested order."""
    wants = batch[0].wants
    mode = backend.capabilities.output_mode
    allowed = {*wants, "reasoning"}
    if "text" in wants:
        allowed.add("code")
    all_kinds: set[PartKind] = set()
    for row, response in enumerate(_answers(backend, batch)):
        parts = () if response.output is None else response.output.parts
        # a placeholder without its medium does not count
        kinds = [part.kind for part in parts if not part.dangling]
        all_kinds.update(kinds)
        foreign = sorted(set(kinds) - allowed)
        assert not foreign, (
            f"row {row} contains {'+'.join(foreign)}, which was not requested; the "
            f"request was for {'+'.join(wants)}"
        )
        for kind in wants:
            is_there = kind in kinds or kind in ("text", "code")
            assert is_there or mode == "interleaved", (
                f"row {row} does not contain {kind}, which its capabilities declare"
            )
        order = [wants.index(kind) for kind in kinds if kind in wants]
        assert mode != "parallel" or order == sorted(order), (
            f"row {row} has {'+'.join(kinds)}, not in the order {'+'.join(wants)}"
        )
    for kind in wants:
        assert kind in all_kinds, (
            f"no answer contains {kind}, which its capabilities declare"
        )


def check_batch(backend: BatchBackend, batch: Sequence[Request]) -> None:
    """Check that at temperature 0 a row gets the same answer alone and in any batch."""
    greedy = [_at_temperature(0.0, request) for request in batch]
    alone = [_answers(backend, [request])[0] for request in greedy]
    _expect_same(alone, _answers(backend, greedy), "differently in a batch than alone")
    _expect_same(
        alone,
        _answers(backend, greedy[::-1])[::-1],
        "differently in a reordered batch than alone",
    )


def check_seeds(backend: BatchBackend, batch: Sequence[Request]) -> None:
    """Check that at temperature 1 equal seeds lead to equal answers, and different
    seeds to different answers."""
    drawn = [_at_temperature(1.0, request) for request in batch]
    first = _answers(backend, drawn)
    again = _answers(backend, drawn)
    _expect_same(first, again, "differently with the same seed")
    others = _answers(backend, _with_other_seeds(drawn))
    pairs = zip(first, others, strict=True)
    assert any(not _same(answer, other) for answer, other in pairs), (
        "other seeds gave the same answers: the seed of a request must change the "
        "answers at temperature 1 (for a model that never samples use "
        "deterministic=True, or --skip seeds)"
    )


def check_no_draws(backend: BatchBackend, batch: Sequence[Request]) -> None:
    """Check that at temperature 1 all seeds lead to the same answers. This check
    replaces :func:`check_seeds` for a backend that never samples."""
    drawn = [_at_temperature(1.0, request) for request in batch]
    others = _answers(backend, _with_other_seeds(drawn))
    first = _answers(backend, drawn)
    _expect_same(first, others, "differently with another seed")


def check_neighbours(backend: BatchBackend, batch: Sequence[Request]) -> None:
    """Check that at temperature 1 an answer does not depend on other rows, their seeds
    or its position."""
    drawn = [_at_temperature(1.0, request) for request in batch]
    together = _answers(backend, drawn)
    alone = _answers(backend, drawn[:1])
    _expect_same(together[:1], alone, "differently alone than in a batch")
    others = _with_other_seeds(drawn[1:])
    moved = _answers(backend, [*others, drawn[0]])[-1:]
    how = "differently in a batch with other seeds"
    _expect_same(together[:1], moved, how)


def check_order(backend: BatchBackend, batch: Sequence[Request]) -> None:
    """Check that the order of parts matters: at least one answer must change if the
    order is reversed."""
    greedy: list[Request] = []
    turned: list[Request] = []
    for request in batch:
        *before, last = request.messages
        if len(last.content.parts) < 2:
            continue
        reversed_last = Message(last.role, Interleaved(last.content.parts[::-1]))
        other = replace(request, messages=(*before, reversed_last))
        greedy.append(_at_temperature(0.0, request))
        turned.append(_at_temperature(0.0, other))
    pairs = zip(_answers(backend, greedy), _answers(backend, turned), strict=True)
    assert not greedy or any(not _same(first, second) for first, second in pairs), (
        "no answer changed when the parts of the prompts were reversed: their order "
        "is lost"
    )


def check_refusals(backend: BatchBackend, batch: Sequence[Request]) -> None:
    """Check that a bad row gets a typed error. Other rows must keep their answers. A
    bad row contains an unsupported kind or an unreadable medium. For an unreadable
    medium of a supported kind, an answer with a warning also passes."""
    first, last = (_at_temperature(0.0, request) for request in batch[:2])
    expected = _answers(backend, [first, last])
    inputs = backend.capabilities.inputs
    bad_parts: list[tuple[str, Part]] = []
    for kind in MEDIA_KINDS:
        if kind not in inputs:
            part = media_part(small_media(kind), kind)
            bad_parts.append((f"a part of the unsupported kind {kind}", part))
    for supported, medium in UNREADABLE.items():
        if supported in inputs:
            part = media_part(medium, supported)
            bad_parts.append((f"an unreadable {supported}", part))
    for name, part in bad_parts:
        bad = replace(first, messages=(message("user", text_part("look "), part),))
        before, refused, after = _answers(backend, [first, bad, last])
        how = f"differently in a batch with {name}"
        _expect_same(expected, [before, after], how)
        if refused.error is None:
            assert part.kind in inputs, f"{name} was answered: {_shown(refused)}"
            assert refused.warnings, (
                f"{name} was answered without a warning: {_shown(refused)}"
            )
        else:
            assert refused.error.kind in HOPELESS, (
                f"{name} gave {_shown(refused)}; expected one of {', '.join(HOPELESS)}"
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
"""The checks by their names in ``mmeval try backend``."""


def _answers(backend: BatchBackend, batch: Sequence[Request]) -> list[Response]:
    responses: dict[int, Response] = {}
    try:
        for position, response in backend.generate_batch(batch):
            assert 0 <= position < len(batch), (
                f"a response is for row {position}, but the batch has {len(batch)} rows"
            )
            assert position not in responses, f"row {position} was answered twice"
            assert (response.output is None) != (response.error is None), (
                f"row {position} needs either an answer or an error"
            )
            responses[position] = response
    except AssertionError:
        raise
    # a plugin's backend may raise anything and call sys.exit
    except (Exception, SystemExit) as error:
        raise AssertionError(
            f"generate_batch raised {type(error).__name__}: {error}; return "
            "Response.failed for a row that fails"
        ) from error
    missing = [row for row in range(len(batch)) if row not in responses]
    assert not missing, f"rows {missing} of a batch of {len(batch)} were not answered"
    return [responses[row] for row in range(len(batch))]


def _at_temperature(temperature: float, request: Request) -> Request:
    return replace(request, params=replace(request.params, temperature=temperature))


def _with_other_seeds(batch: Sequence[Request]) -> list[Request]:
    return [request.with_seed(request.seed + 1000) for request in batch]


def _expect_same(
    expected: Sequence[Response], responses: Sequence[Response], how: str
) -> None:
    for row, (first, second) in enumerate(zip(expected, responses, strict=True)):
        assert _same(first, second), (
            f"row {row} was answered {how}: {_shown(second)}, not {_shown(first)}"
        )


def _same(first: Response, second: Response) -> bool:
    """Returns whether two responses are equal within the tolerances."""
    if first.output is None or second.output is None:
        if first.error is None or second.error is None:
            return False
        return first.error.kind == second.error.kind
    if len(first.output.parts) != len(second.output.parts):
        return False
    for ours, theirs in zip(first.output.parts, second.output.parts, strict=True):
        is_same = (ours.kind, ours.text) == (theirs.kind, theirs.text)
        if not is_same or not _are_close(ours.media, theirs.media):
            return False
    return True


def _are_close(first: Media | None, second: Media | None) -> bool:
    import numpy as np

    from mmeval.media import decode

    if first is None or second is None or first == second:
        return first == second
    if first.kind != second.kind or first.kind not in ("image", "audio"):
        return False
    if first.kind == "image":
        first_pixels = np.asarray(decode.image(first), dtype=np.int16)
        second_pixels = np.asarray(decode.image(second), dtype=np.int16)
        if first_pixels.shape != second_pixels.shape:
            return False
        return bool(np.abs(first_pixels - second_pixels).max() <= PIXEL_TOLERANCE)
    first_sound = decode.audio(first)
    second_sound = decode.audio(second)
    first_samples = first_sound.samples
    second_samples = second_sound.samples
    if (
        first_sound.rate != second_sound.rate
        or first_samples.shape != second_samples.shape
    ):
        return False
    return bool(np.abs(first_samples - second_samples).max() <= SAMPLE_TOLERANCE)


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
