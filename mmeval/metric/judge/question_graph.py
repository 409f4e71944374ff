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
from mmeval.records.score import CAUSES, Score
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
        pairs = list(
            zip(_apart([one.id for one in self.verdicts]), self.verdicts, strict=True)
        )
        judged = [
            (name, one, one.verdict) for name, one in pairs if one.verdict is not None
        ]
        more = {
            "not_asked": {name: one.why for name, one in pairs if one.verdict is None},
            "lost": {name: one.why for name, one, _ in judged if one.why},
            "said": {
                name: verdict.evidence
                for name, _, verdict in judged
                if verdict.evidence
            },
            "faults": list(self.faults),
            UNREAD: sum(
                one.yes is False and bool(verdict.lost) for _, one, verdict in judged
            ),
        }
        words = {True: "yes", False: "no", None: "unknown"}
        verdicts = {name: words[one.yes] for name, one in pairs}
        return {
            "asked": list(self.asked),
            "verdicts": verdicts,
            **{name: value for name, value in more.items() if value},
        }

    def share(self, **evidence: Any) -> Score:
        """The share of yes among the questions, of which there must be some. Unscored
        where some are unknown; its bounds are the share with these as no, and as
        yes."""
        count, yes = len(self.verdicts), sum(one.yes is True for one in self.verdicts)
        told = {**self.evidence, **evidence}
        lost = [
            (one, one.verdict)
            for one in self.verdicts
            if one.yes is None and one.verdict is not None
        ]
        if not lost:
            return Score(yes / count, evidence=told)
        unknown = sum(one.yes is None for one in self.verdicts)
        return Score(
            status="unscored",
            reason=lost[0][0].why,
            evidence=told,
            bounds=(yes / count, (yes + unknown) / count),
            cause=min((verdict.cause for _, verdict in lost), key=CAUSES.index),
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
        for at, one in enumerate(questions):
            if one.parents:
                graph.settle(
                    at,
                    GraphVerdict(
                        one.id,
                        yes=False,
                        why="it has parents, and these are never asked",
                    ),
                )
    asked: list[GraphId] = []
    while wave := graph.wave():
        asked += [questions[at].id for at, _ in wave]
        verdicts = yield from ask_verdicts(
            [_with_example(one, field) for _, one in wave], repeats=repeats
        )
        for (at, _), verdict in zip(wave, verdicts, strict=True):
            graph.settle(
                at, _read(questions[at].id, verdict, field, lost_is_no=lost_is_no)
            )
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
        self.faults += [
            f"{len(those)} questions have the id {id!r:.80}"
            for id, those in places.items()
            if those[1:]
        ]
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
        ready = sorted(at for at in self._ready if self._found[at] is None)
        self._ready = []
        return [
            (at, question)
            for at in ready
            if (question := self._questions[at].question) is not None
        ]

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
                    settled.append(
                        (place, GraphVerdict(own, yes=False, why=f"{verdict.id} is no"))
                    )
                    continue
                if verdict.yes is None:
                    self._doubt.setdefault(place, verdict.id)
                self._open[place] -= 1
                if not self._open[place] and place in self._doubt:
                    settled.append(
                        (
                            place,
                            GraphVerdict(
                                own, yes=None, why=f"{self._doubt[place]} is unknown"
                            ),
                        )
                    )
                elif not self._open[place]:
                    self._ready.append(place)

    def verdicts(self) -> tuple[GraphVerdict, ...]:
        """All verdicts, at the end: what has none by then is in a cycle, or below
        one."""
        left = [
            repr(self._questions[at].id)[:80]
            for at, found in enumerate(self._found)
            if found is None
        ]
        self.faults += (
            [f"in a cycle, or below one: {listed(left, MOST_NAMED)}"] if left else []
        )
        pairs = zip(self._questions, self._found, strict=True)
        cycle = "it is in a cycle, or below one"
        return tuple(
            found or GraphVerdict(one.id, yes=False, why=cycle) for one, found in pairs
        )


def _with_example(question: Question, field: str) -> Question:
    """The question with a yes for dry runs, so that these count what is asked after
    it."""
    form = question.form
    return (
        question
        if form.example
        else replace(question, form=replace(form, example=json.dumps({field: "yes"})))
    )


def _read(
    id: GraphId, verdict: Verdict, field: str, *, lost_is_no: bool
) -> GraphVerdict:
    if missing := verdict.unknown(field):
        return GraphVerdict(
            id, False if lost_is_no and verdict.replied else None, verdict, missing
        )
    return GraphVerdict(id, bool(verdict.values[field]), verdict)


def _apart(ids: Sequence[GraphId]) -> list[str]:
    """Ids as keys: those after the first of the same id have a number."""
    seen: Counter[str] = Counter()
    names: list[str] = []
    for id in map(str, ids):
        seen[id] += 1
        names.append(id if seen[id] == 1 else f"{id} ({seen[id]})")
    return names
