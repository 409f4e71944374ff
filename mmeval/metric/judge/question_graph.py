"""Question graphs: yes-or-no questions, of which some are asked only after a yes to
others.

    questions = [
        GraphQuestion("lamp", Question(judge, FORM, prompt, {"question": "Is there a lamp?"})),
        GraphQuestion("red", Question(judge, FORM, prompt, {"question": "Is the lamp red?"}), parents=("lamp",)),
    ]
    graph = yield from ask_graph(questions)
    return graph.share()

Questions are asked in waves: all that are ready at once, so a graph takes one round
trip for each step of its depth.
"""  # noqa: E501

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from mmeval.metric.judge.verdict import UNREAD, Question, Verdict, ask_verdicts
from mmeval.program.calls import Program
from mmeval.records.score import CAUSES, Cause, Score
from mmeval.system.wording import listed

MOST_NAMED = 10
"""Questions of a cycle that its fault names."""
GraphId: TypeAlias = str | int
Dependencies = Literal["followed", "never_asked"]
"""What parents do: a question is asked after a yes to all of them, or one with parents
is never asked, and is no."""


@dataclass(frozen=True)
class GraphQuestion:
    """A question of a graph; ``parents`` are the ids of those that it is asked after.
    ``question`` is None where it cannot be asked, and ``unaskable`` says why: it is no
    then."""

    id: GraphId
    question: Question | None
    parents: Sequence[GraphId] = ()
    unaskable: str = "it cannot be asked"


@dataclass(frozen=True)
class GraphVerdict:
    """What became of one question: yes, no, or None for unknown. ``verdict`` is the
    judge's, None where it was not asked; ``why`` says why it was not asked, or why it
    is lost."""

    id: GraphId
    yes: bool | None
    verdict: Verdict | None = None
    why: str = ""


@dataclass(frozen=True)
class AnsweredGraph:
    """The verdicts of a graph, one for each question, in their order. ``asked`` are the
    ids in the order in which they were asked; ``faults`` are those of the graph
    itself."""

    verdicts: tuple[GraphVerdict, ...]
    asked: tuple[GraphId, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def evidence(self) -> dict[str, Any]:
        """``asked`` and ``verdicts``; where there are any, ``not_asked`` and ``lost``
        with reasons, ``said`` by the judge, ``faults``, and how many unreadable replies
        are no. All but the first and the last two are by id."""
        words = {True: "yes", False: "no", None: "unknown"}
        verdicts, not_asked, lost, replies = {}, {}, {}, {}
        unread = 0
        seen: Counter[str] = Counter()
        for one in self.verdicts:
            # those after the first of the same id have a number
            name = str(one.id)
            seen[name] += 1
            if seen[name] > 1:
                name = f"{name} ({seen[name]})"
            verdicts[name] = words[one.yes]
            if one.verdict is None:
                not_asked[name] = one.why
                continue
            if one.why:
                lost[name] = one.why
            if one.verdict.evidence:
                replies[name] = one.verdict.evidence
            unread += one.yes is False and bool(one.verdict.lost)
        more = {
            "not_asked": not_asked,
            "lost": lost,
            "said": replies,
            "faults": list(self.faults),
            UNREAD: unread,
        }
        return {
            "asked": list(self.asked),
            "verdicts": verdicts,
            **{name: value for name, value in more.items() if value},
        }

    def share(self, **evidence: Any) -> Score:
        """The share of yes among the questions, of which there must be some. Unscored
        where some are unknown; its bounds are the share with these as no, and as
        yes."""
        yes = unknown = 0
        reasons: list[str] = []
        causes: list[Cause] = []
        for one in self.verdicts:
            yes += one.yes is True
            unknown += one.yes is None
            if one.yes is None and one.verdict is not None:
                reasons.append(one.why)
                causes.append(one.verdict.cause)
        count = len(self.verdicts)
        evidence = {**self.evidence, **evidence}
        if not causes:
            return Score(yes / count, evidence=evidence)
        return Score(
            status="unscored",
            reason=reasons[0],
            evidence=evidence,
            bounds=(yes / count, (yes + unknown) / count),
            cause=min(causes, key=CAUSES.index),
        )


def ask_graph(
    questions: Sequence[GraphQuestion],
    *,
    field: str = "verdict",
    dependencies: Dependencies = "followed",
    lost_is_no: bool = False,
    repeats: int = 1,
) -> Program[AnsweredGraph]:
    """Ask the questions of a graph; ``field`` is the one of the reply that holds yes or
    no.

    A question is asked when all of its parents are yes. Below a no all are no, and
    below an unknown verdict all are unknown, without a call; of several parents a no
    decides. A question in a cycle, or below one, is no. A parent that does not exist,
    or is the question itself, is left out and is a fault. Questions may share an id,
    which is a fault too; those below it are asked when all of them are yes.

    ``lost_is_no``: a question of which no reply can be used is no, and not unknown; one
    to which the judge gave no reply at all is unknown in any case. With ``repeats`` the
    majority decides.
    """
    graph = _Graph(questions)
    if dependencies == "never_asked":
        why = "it has parents, and these are never asked"
        for place, one in enumerate(questions):
            if one.parents:
                graph.settle(place, GraphVerdict(one.id, yes=False, why=why))
    asked: list[GraphId] = []
    while wave := graph.wave():
        asked += [questions[place].id for place, _ in wave]
        with_examples = [_with_example(question, field) for _, question in wave]
        verdicts = yield from ask_verdicts(with_examples, repeats=repeats)
        for (place, _), verdict in zip(wave, verdicts, strict=True):
            why = verdict.unknown(field)
            yes: bool | None = None
            if not why:
                yes = bool(verdict.values[field])
            elif lost_is_no and verdict.replied:
                yes = False
            graph.settle(place, GraphVerdict(questions[place].id, yes, verdict, why))
    return AnsweredGraph(graph.verdicts(), tuple(asked), tuple(graph.faults))


class _Graph:
    """What is known of each question, by its place, and which are ready to be asked."""

    def __init__(self, questions: Sequence[GraphQuestion]) -> None:
        self.faults: list[str] = []
        self._questions = questions
        self._found: list[GraphVerdict | None] = [None] * len(questions)
        self._below: list[list[int]] = [[] for _ in questions]
        self._open = [0] * len(questions)
        """How many parents have no verdict yet."""
        self._doubt: dict[int, GraphId] = {}
        """A parent that is unknown."""
        places: dict[GraphId, list[int]] = {}
        for at, one in enumerate(questions):
            places.setdefault(one.id, []).append(at)
        for id, those in places.items():
            if len(those) > 1:
                self.faults.append(f"{len(those)} questions have the id {id!r:.80}")
        for at, one in enumerate(questions):
            for parent in dict.fromkeys(one.parents):
                above = [place for place in places.get(parent, ()) if place != at]
                if parent == one.id:
                    self.faults.append(f"{one.id!r:.80} is its own parent")
                elif not above:
                    self.faults.append(
                        f"{one.id!r:.80} has the parent {parent!r:.80}, which does "
                        "not exist"
                    )
                else:
                    self._open[at] += len(above)
                    for place in above:
                        self._below[place].append(at)
        self._ready = [at for at, count in enumerate(self._open) if not count]
        for at, one in enumerate(questions):
            if one.question is None:
                self.settle(at, GraphVerdict(one.id, yes=False, why=one.unaskable))

    def wave(self) -> list[tuple[int, Question]]:
        """The questions that are ready, in their order, with their places; each comes
        once."""
        wave = []
        for place in sorted(self._ready):
            question = self._questions[place].question
            if self._found[place] is None and question is not None:
                wave.append((place, question))
        self._ready = []
        return wave

    def settle(self, at: int, verdict: GraphVerdict) -> None:
        """Keep a verdict, and those that follow from it below. A loop, as chains may be
        long."""
        settled = [(at, verdict)]
        while settled:
            at, verdict = settled.pop()
            if self._found[at] is not None:
                continue
            self._found[at] = verdict
            for place in self._below[at]:
                own = self._questions[place].id
                if verdict.yes is False:
                    below = GraphVerdict(own, yes=False, why=f"{verdict.id} is no")
                    settled.append((place, below))
                    continue
                if verdict.yes is None:
                    self._doubt.setdefault(place, verdict.id)
                self._open[place] -= 1
                if self._open[place]:
                    continue
                if place in self._doubt:
                    why = f"{self._doubt[place]} is unknown"
                    settled.append((place, GraphVerdict(own, yes=None, why=why)))
                else:
                    self._ready.append(place)

    def verdicts(self) -> tuple[GraphVerdict, ...]:
        """All verdicts, at the end: what has none by then is in a cycle, or below
        one."""
        verdicts = []
        left = []
        for one, verdict in zip(self._questions, self._found, strict=True):
            if verdict is None:
                why = "it is in a cycle, or below one"
                verdicts.append(GraphVerdict(one.id, yes=False, why=why))
                left.append(repr(one.id)[:80])
            else:
                verdicts.append(verdict)
        if left:
            named = listed(left, MOST_NAMED)
            self.faults.append(f"in a cycle, or below one: {named}")
        return tuple(verdicts)


def _with_example(question: Question, field: str) -> Question:
    """The question with a yes for dry runs, so that these count what is asked after
    it."""
    form = question.form
    if form.example:
        return question
    example = json.dumps({field: "yes"})
    return replace(question, form=replace(form, example=example))
