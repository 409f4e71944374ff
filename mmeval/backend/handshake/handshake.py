"""The program of a handshake, and the effect of its probes on capabilities."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from mmeval.backend.capabilities import Capabilities
from mmeval.backend.handshake import inputs, outputs
from mmeval.backend.handshake.inputs import (
    AT_ONCE,
    TAKES,
    WITHOUT_MEDIA,
    Observation,
    failure,
)
from mmeval.backend.probe import Probe, ReplyFormat
from mmeval.media.parts import PartKind
from mmeval.program.calls import Call, Program, Reply, Role, ask_all, next_calls
from mmeval.program.together import together
from mmeval.records.response import Response

MAX_CALLS = 12
"""Maximum number of calls of a handshake."""
ANSWERS = "answers"


@dataclass(frozen=True)
class Extent:
    """The questions of a handshake: about these kinds of media, and about JSON.

    With ``full``, the handshake also asks about outputs, parameters and seeds.
    """

    kinds: frozenset[PartKind] = frozenset()
    reply_format: bool = False
    full: bool = False

    @classmethod
    def whole(cls, capabilities: Capabilities) -> Extent:
        """Returns all questions for a backend with these capabilities."""
        kinds = frozenset(capabilities.inputs) & TAKES.keys()
        return cls(kinds, bool(capabilities.reply_formats), full=True)


def handshake(
    role: Role, capabilities: Capabilities, extent: Extent, draw: random.Random
) -> Program[list[Probe]]:
    """Asks a model what it can do, with at most :data:`MAX_CALLS` calls.

    Questions that need a written reply are left out for a model without text output.
    """
    return (yield from _limited(_questions(role, capabilities, extent, draw)))


def _questions(
    role: Role, capabilities: Capabilities, extent: Extent, draw: random.Random
) -> Program[list[Probe]]:
    """Asks all questions.

    The questions that a run depends on come first, because the number of calls is
    limited.
    """
    if "text" not in capabilities.outputs:
        return (yield from outputs.gives(role, capabilities)) if extent.full else []
    if not extent.full:
        return (yield from _needed_questions(role, capabilities, extent, draw))

    # A server that is gone, or does not know the model, costs only one call.
    reply = yield from _without_media(role)
    answers, _ = _answers(reply)
    if answers.verdict != "yes":
        return [answers]
    groups = yield from together(
        [
            _needed_questions(role, capabilities, extent, draw, reply),
            outputs.parameters(role, draw),
        ]
    )
    probes = [probe for group in groups for probe in group]
    # Outputs come before seeds, because the last calls may exceed the limit.
    probes += yield from outputs.gives(role, capabilities)
    further = [outputs.seeds(role, draw)]
    known = {probe.capability: probe.verdict for probe in probes}
    if known.get(TAKES["image"]) == "yes" and AT_ONCE not in known:
        limit = capabilities.inputs["image"].max_items
        if limit is None or limit >= inputs.MANY_PICTURES:
            further.append(inputs.many_pictures(role, draw))
    for group in (yield from together(further)):
        probes += group
    return probes


def _needed_questions(
    role: Role,
    capabilities: Capabilities,
    extent: Extent,
    draw: random.Random,
    known_reply: Reply | None = None,
) -> Program[list[Probe]]:
    """Asks about media and JSON at the same time.

    ``known_reply`` is the reply to the question without media, if this question was
    asked before.
    """
    media_questions: list[Program[Observation]] = []
    if "image" in extent.kinds:
        limit = capabilities.inputs["image"].max_items
        media_questions.append(inputs.pictures(role, draw, limit))
    for kind, question in inputs.QUESTIONS.items():
        if kind in extent.kinds:
            media_questions.append(question(role, draw))
    formats = capabilities.reply_formats if extent.reply_format else ()
    # Any, because their results have different types.
    programs: list[Program[Any]] = [
        together(media_questions),
        outputs.reply_format(role, draw, formats),
    ]
    if known_reply is None:
        programs.append(_without_media(role))
    observations, format_probes, *replies = yield from together(programs)
    answers, tokens = _answers(known_reply or replies[0])
    if answers.verdict != "yes":
        return [answers]
    probes = [answers]
    for observation in observations:
        probes.append(inputs.compared(observation, tokens))
        probes += observation.others
    return [*probes, *format_probes]


def _without_media(role: Role) -> Program[Reply]:
    (reply,) = yield from ask_all([role.ask(WITHOUT_MEDIA, title="handshake")])
    return reply


def _answers(reply: Reply) -> tuple[Probe, int]:
    """Returns whether the model answers at all, and the prompt tokens without media."""
    if not reply.ok:
        return Probe(ANSWERS, *failure(reply)), 0
    served = reply.response.served
    evidence = f"as {served}" if served else ""
    return Probe(ANSWERS, "yes", evidence), reply.response.usage.input_tokens


def _limited(program: Program[list[Probe]]) -> Program[list[Probe]]:
    """Sends the first :data:`MAX_CALLS` calls. Further calls get an error."""
    remaining = MAX_CALLS
    sent: Reply | list[Reply] | None = None
    while True:
        try:
            yielded = next_calls(program, sent)
        except StopIteration as stop:
            probes: list[Probe] = stop.value
            return probes
        calls = [yielded] if isinstance(yielded, Call) else list(yielded)
        replies = yield from ask_all(calls[:remaining])
        words = f"not asked: a handshake makes at most {MAX_CALLS} calls"
        for _ in calls[remaining:]:
            replies = [*replies, Reply(Response.failed("over_limit", words))]
        remaining -= min(remaining, len(calls))
        sent = replies[0] if isinstance(yielded, Call) else replies


def narrowed(
    capabilities: Capabilities,
    probes: Iterable[Probe],
    given: Collection[PartKind] = (),
) -> Capabilities:
    """Returns the capabilities without the input kinds that probes deny.

    Kinds in ``given`` are kept, because the user declares them. If a probe shows that a
    request may contain only one picture, requests with more pictures are unsupported.
    """
    by_name = {probe.capability: probe for probe in probes}
    kept, denied = dict(capabilities.inputs), dict(capabilities.denied)
    for kind, name in TAKES.items():
        probe = by_name.get(name)
        is_denied = probe is not None and probe.verdict == "no"
        if probe is not None and is_denied and kind in kept and kind not in given:
            del kept[kind]
            denied[kind] = probe.evidence
    at_once = by_name.get(AT_ONCE)
    is_single = at_once is not None and at_once.verdict == "no"
    if is_single and "image" in kept and "image" not in given:
        kept["image"] = replace(kept["image"], max_items=1)
    return replace(capabilities, inputs=kept, denied=denied)


def found_format(
    probes: Iterable[Probe], formats: Iterable[ReplyFormat]
) -> ReplyFormat | None:
    """Returns the way to ask for JSON that the probes found, or None."""
    for probe in probes:
        if probe.capability == outputs.JSON and probe.verdict == "yes":
            for form in formats:
                if form == probe.evidence:
                    return form
    return None
