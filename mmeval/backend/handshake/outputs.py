"""Questions about outputs, parameters and seeds of a model."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mmeval.backend.capabilities import Capabilities
from mmeval.backend.handshake import media
from mmeval.backend.handshake.inputs import ended_early, failure
from mmeval.backend.probe import Probe, ReplyFormat, Verdict
from mmeval.media.parts import PartKind
from mmeval.program.calls import Call, Program, Reply, Role, ask_all, ask_one, excerpt
from mmeval.records.request import GenerationParams, ReplySchema
from mmeval.records.sample import message

SEED = "holds a seed"
SYSTEM, STOP, TEMPERATURE = (
    "takes a system message",
    "takes stop",
    "takes temperature 0",
)
JSON = "JSON replies"
_SEED = "Write a line of twelve random lowercase letters, and nothing else."
MAX_TOKENS = 1024
"""Maximum number of tokens of a reply. The replies are short, but a reasoning model
needs tokens before it answers."""
_LIMITED = GenerationParams(max_tokens=MAX_TOKENS)
_DRAWN = replace(_LIMITED, temperature=1.0)


def seeds(role: Role, draw: random.Random) -> Program[list[Probe]]:
    """Asks twice with the same seed and once with another seed, at temperature 1."""
    seed = draw.randrange(1, 2**31)
    call = role.send([message("user", _SEED)], params=_DRAWN, title="handshake")
    calls = [
        replace(call, request=call.request.with_seed(value))
        for value in (seed, seed, seed + 1)
    ]
    first, again, other = yield from ask_all(calls)
    for reply in (first, again, other):
        if not reply.ok:
            return [Probe(SEED, *failure(reply))]
    if first.text != again.text:
        evidence = f"one seed gave {first.text!r:.40} and {again.text!r:.40}"
        return [Probe(SEED, "no", evidence)]
    if first.text == other.text:
        return [Probe(SEED, "doubtful", "two seeds gave the same reply")]
    return [Probe(SEED, "yes", "one seed gave one reply, another seed another")]


def parameters(role: Role, draw: random.Random) -> Program[list[Probe]]:
    """Asks with a system message, a stop sequence and temperature 0 in one call.

    If the server refuses this call, each of the three is sent in its own call.
    """
    secret, last = media.word(draw), media.word(draw)
    system = message("system", f"The password is {secret}.")
    question = message(
        "user",
        "Write the password. Then write these words, separated by spaces: apple, "
        f"cherry, {last}.",
    )
    all_at_once = replace(_LIMITED, temperature=0.0, stop=(last,))
    reply = yield from ask_one(
        role.send([system, question], params=all_at_once, title="handshake")
    )
    if reply.ok:
        return _parameters_in(reply, secret, last)
    verdict, evidence = failure(reply)
    if verdict != "no":
        return [Probe(name, verdict, evidence) for name in (SYSTEM, STOP, TEMPERATURE)]

    stopped = replace(_LIMITED, stop=(last,))
    calls = [
        role.send([system, question], params=_LIMITED, title="handshake"),
        role.send([question], params=stopped, title="handshake"),
        role.send(
            [question], params=replace(_LIMITED, temperature=0.0), title="handshake"
        ),
    ]
    replies = yield from ask_all(calls)
    probes = []
    for name, single in zip((SYSTEM, STOP, TEMPERATURE), replies, strict=True):
        if not single.ok:
            probes.append(Probe(name, *failure(single)))
            continue
        for probe in _parameters_in(single, secret, last):
            if probe.capability == name:
                probes.append(probe)
    return probes


def _parameters_in(reply: Reply, secret: str, last: str) -> list[Probe]:
    text = reply.text.upper()
    system: Verdict = "yes" if secret in text else "doubtful"
    stop: Verdict = "no" if last in text else "yes"
    if stop == "yes" and "CHERRY" not in text:
        stop = "doubtful"
    answered = f"it answered {excerpt(reply.response)!r:.80}"
    return [
        Probe(SYSTEM, system, answered),
        Probe(STOP, stop, answered),
        Probe(TEMPERATURE, "yes", "it was accepted"),
    ]


def reply_format(
    role: Role, draw: random.Random, formats: Sequence[ReplyFormat]
) -> Program[list[Probe]]:
    """Finds the first of the formats that the server enforces.

    The schema requires a random key and a random value. The question does not mention
    this key or value, so a reply contains them only if the server enforces the schema.
    """
    verdict: Verdict = "no"
    evidence = ""
    for form in formats:
        key, value = media.word(draw).lower(), media.word(draw).lower()
        request_schema = ReplySchema(_schema(key, value), form)
        question = "Describe the weather of today in one short sentence."
        if form == "json_object":
            question += " Answer as one JSON object with the key weather."
        call = role.send(
            [message("user", question)], params=_LIMITED, title="handshake"
        )
        request = call.request.with_schema(request_schema)
        reply = yield from ask_one(replace(call, request=request))
        if not reply.ok:
            verdict, evidence = failure(reply)
        elif _fits(reply.text, form, key, value):
            return [Probe(JSON, "yes", form)]
        elif ended_early(reply):
            verdict, evidence = "unknown", f"its reply to {form} ended early"
        else:
            verdict, evidence = "no", f"{form} gave {excerpt(reply.response)!r:.80}"
    return [Probe(JSON, verdict, evidence)] if formats else []


def _schema(key: str, value: str) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": {key: {"type": "string", "enum": [value]}},
        "required": [key],
        "additionalProperties": False,
    }


def _fits(text: str, form: ReplyFormat, key: str, value: str) -> bool:
    try:
        reply = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(reply, dict) if form == "json_object" else reply == {key: value}


_GIVEN: Mapping[PartKind, str] = {
    "image": "a picture of one red circle",
    "audio": "a sound in which you say: good morning",
}
"""The medium to request of each kind. Films and 3D models are left out because they
cost too much."""


def gives(role: Role, capabilities: Capabilities) -> Program[list[Probe]]:
    """Asks for media of the output kinds.

    If a call can return several kinds, one call asks for text and all other kinds. Each
    kind that is missing from the reply is then requested alone.
    """
    kinds = [kind for kind in _GIVEN if kind in capabilities.outputs]
    if not kinds:
        return []
    has_text = "text" in capabilities.outputs
    is_mixed = capabilities.output_mode in ("parallel", "interleaved") and has_text
    probes: list[Probe] = []
    missing = kinds
    if is_mixed:
        reply = yield from ask_one(_mixed(role, kinds))
        given = _kinds_in(reply)
        missing = [kind for kind in kinds if kind not in given]
        for kind in kinds:
            if kind in given:
                probes.append(
                    Probe(_gives(kind), "yes", "given with text", declared=True)
                )
        if not missing:
            probes.append(_order(reply))
    alone = yield from ask_all([_alone(role, kind) for kind in missing])
    for kind, reply in zip(missing, alone, strict=True):
        probes.append(_alone_probe(kind, reply, is_mixed=is_mixed))
    return probes


def _mixed(role: Role, kinds: Sequence[PartKind]) -> Call:
    wished = " Then give ".join(f"{_GIVEN[kind]}." for kind in kinds)
    question = f"Write the word first. Then give {wished} Then write the word last."
    return role.ask(question, wants=("text", *kinds), title="handshake")


def _alone(role: Role, kind: PartKind) -> Call:
    return role.ask(f"Give {_GIVEN[kind]}.", wants=(kind,), title="handshake")


def _alone_probe(kind: PartKind, reply: Reply, *, is_mixed: bool) -> Probe:
    if not reply.ok:
        return Probe(_gives(kind), *failure(reply), declared=True)
    if kind not in _kinds_in(reply):
        evidence = f"asked for it, it answered {excerpt(reply.response)!r:.80}"
        return Probe(_gives(kind), "no", evidence, declared=True)
    if is_mixed:
        evidence = "only if nothing else is requested"
        return Probe(_gives(kind), "doubtful", evidence, declared=True)
    return Probe(_gives(kind), "yes", "given when requested", declared=True)


def _gives(kind: PartKind) -> str:
    return f"gives {kind}"


def _kinds_in(reply: Reply) -> set[PartKind]:
    output = reply.response.output
    if output is None:
        return set()
    return {part.kind for part in output.parts if part.media is not None}


def _order(reply: Reply) -> Probe:
    """Returns whether text and media came in the requested order."""
    output = reply.response.output
    assert output is not None  # it has media
    before = after = ""
    has_medium = False
    for part in output.parts:
        if part.media is not None:
            has_medium = True
        elif has_medium:
            after += part.raw
        else:
            before += part.raw
    is_in_order = "first" in before.lower() and "last" in after.lower()
    verdict: Verdict = "yes" if is_in_order else "no"
    evidence = (
        "text, medium, text"
        if is_in_order
        else f"the text before the medium was {before!r:.40}"
    )
    return Probe("gives in the requested order", verdict, evidence)
