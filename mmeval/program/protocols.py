"""Protocols: programs that request the answer to a sample from the model under test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, Part, PartKind
from mmeval.program.calls import Call, Program, Role, ask_all, ask_one
from mmeval.records.request import GenerationParams
from mmeval.records.sample import Message, Sample, user
from mmeval.system.arguments import OneOrMore


@dataclass(frozen=True, slots=True)
class Ask:
    """The input of a protocol: the messages of a sample, output kinds, and the model.

    ``sample`` contains references and labels, for example the number of turns. A
    protocol must not put them into a message.
    """

    sample: Sample
    messages: tuple[Message, ...]
    wants: tuple[PartKind, ...]
    params: GenerationParams
    model: Role

    def call(
        self,
        messages: Sequence[Message] | None = None,
        wants: Sequence[PartKind] | None = None,
    ) -> Call:
        """Returns a call to the model.

        The defaults are the sample's messages and output kinds.
        """
        if messages is None:
            messages = self.messages
        if wants is None:
            wants = self.wants
        return self.model.send(messages, wants=wants, params=self.params)


def single(ask: Ask) -> Program[Interleaved]:
    """Sends one request for all output kinds."""
    reply = yield from ask_one(ask.call())
    return reply.require()


def independent_passes(ask: Ask) -> Program[Interleaved]:
    """Requests each output kind with a separate request, all at once.

    The answers are joined in the order of ``wants``.
    """
    replies = yield from ask_all([ask.call(wants=(kind,)) for kind in ask.wants])
    return join([reply.require() for reply in replies])


def text_then_media(
    ask: Ask,
    *,
    instruction: str = "Produce the {kind} that belongs to your answer above, and "
    "nothing else.",
) -> Program[Interleaved]:
    """Requests text and code first, then each kind of media with one request.

    The later requests contain the text. The media fill the placeholders of their kind
    in the text, in order. Further media follow the text.
    """
    text_kinds: list[PartKind] = [
        kind for kind in ask.wants if kind in ("text", "code")
    ]
    first = yield from ask_one(ask.call(wants=text_kinds or ("text",)))
    text = first.require()
    calls: list[Call] = []
    for kind in ask.wants:
        if kind not in ("text", "code"):
            wish = user(instruction.format(kind=kind))
            calls.append(ask.call((*ask.messages, first.as_message(), wish), (kind,)))
    replies = yield from ask_all(calls)
    media: list[Media] = []
    for reply in replies:
        media.extend(reply.require().media())
    return text.filled(media) if media else text


def episode(ask: Ask, *, answer: str = "all") -> Program[Interleaved]:
    """Runs a conversation of several turns.

    Each user message follows the earlier messages and answers. The result contains all
    answers in order, or only the last one with ``answer="last"``.
    """
    history: list[Message] = []
    answers: list[Interleaved] = []
    for turn in ask.messages:
        history.append(turn)
        if turn.role != "user":
            continue
        reply = yield from ask_one(ask.call(tuple(history)))
        answers.append(reply.require())
        history.append(reply.as_message())
    return answers[-1] if answer == "last" else join(answers)


def until_all_kinds(ask: Ask, *, tries: OneOrMore = 100) -> Program[Interleaved]:
    """Repeats a request until the answer has all output kinds, at most ``tries`` times.

    The last answer is the result, even if it lacks a kind. A failed reply counts as a
    try, and the program fails only if all replies fail. This protocol favours models
    that often answer with a single kind, so it is never the default of a task.
    """
    answer: Interleaved | None = None
    for _ in range(tries):
        reply = yield from ask_one(ask.call())
        if reply.response.output is not None:
            answer = reply.response.output
            # a placeholder alone is not a part of its kind
            kinds: set[PartKind] = set()
            for part in answer.parts:
                if part.media is not None or (part.text or "").strip():
                    kinds.add(part.kind)
            if kinds.issuperset(ask.wants):
                return answer
    return reply.require() if answer is None else answer


def join(answers: Sequence[Interleaved]) -> Interleaved:
    """Returns the answers concatenated to one answer."""
    parts: list[Part] = []
    for answer in answers:
        parts.extend(answer.parts)
    return Interleaved(tuple(parts))
