"""Question graphs: yes-or-no questions that may depend on a yes to other questions.

    questions = [
        GraphQuestion("lamp", Question(judge, FORM, prompt, {"question": "Is there a lamp?"})),
        GraphQuestion("red", Question(judge, FORM, prompt, {"question": "Is the lamp red?"}), parents=("lamp",)),
    ]
    graph = yield from ask_graph(questions)
    return graph.share()

Questions are asked in waves. A wave consists of all questions whose parents have been
answered, so a graph takes one round trip for each level of its depth.
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
"""The maximum number of questions that a fault about a cycle names."""
GraphId: TypeAlias = str | int
Dependencies = Literal["followed", "never_asked"]
"""How questions with parents are treated. With ``followed``, a question is asked after
a yes to all its parents. With ``never_asked``, a question with parents is not asked,
and its verdict is no."""


@dataclass(frozen=True)
class GraphQuestion:
    """A question of a graph.

    ``parents`` are the ids of questions that it depends on. ``question`` is None if it
    cannot be asked. Its verdict is then no, and ``unaskable`` is the reason.
    """

    id: GraphId
    question: Question | None
    parents: Sequence[GraphId] = ()
    unaskable: str = "it cannot be asked"


@dataclass(frozen=True)
class GraphVerdict:
    """The result for one question: yes, no, or None for unknown.

    ``verdict`` is the verdict of the judge, or None if the question was not asked.
    ``why`` is the reason if the question was not asked or its verdict is unknown.
    """

    id: GraphId
    yes: bool | None
    verdict: Verdict | None = None
    why: str = ""


@dataclass(frozen=True)
class AnsweredGraph:
    """The verdicts of a graph, one for each question, in order.

    ``asked`` are the ids of the questions in the order in which they were asked.
    ``faults`` are the faults in the structure of the graph.
    """

    verdicts: tuple[GraphVerdict, ...]
    asked: tuple[GraphId, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def evidence(self) -> dict[str, Any]:
        """Evidence for a score, as JSON.

        The evidence contains ``asked`` and ``verdicts``. It may also contain
        ``not_asked`` and ``lost`` with reasons, ``said`` with the judge's replies,
        ``faults``, and ``unread``. ``unread`` is the number of unreadable replies that
        count as no. ``asked`` and ``faults`` are lists. All other values are mappings
        by id.
        """
        words = {True: "yes", False: "no", None: "unknown"}
        verdicts, not_asked, lost, replies = {}, {}, {}, {}
        unread = 0
        id_counts: Counter[str] = Counter()
        for answered in self.verdicts:
            # The second question with the same id becomes "id (2)".
            name = str(answered.id)
            id_counts[name] += 1
            if id_counts[name] > 1:
                name = f"{name} ({id_counts[name]})"
            verdicts[name] = words[answered.yes]
            if answered.verdict is None:
                not_asked[name] = answered.why
                continue
            if answered.why:
                lost[name] = answered.why
            if answered.verdict.evidence:
                replies[name] = answered.verdict.evidence
            unread += answered.yes is False and bool(answered.verdict.lost)
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
        """Returns the share of yes among the questions, from 0 to 1.

        The graph must contain at least one question.

        If some verdicts are unknown, the result is unscored. Its bounds are the shares
        that result if all unknown verdicts are no, and if all of them are yes.
        """
        yes = unknown = 0
        reasons: list[str] = []
        causes: list[Cause] = []
        for answered in self.verdicts:
            yes += answered.yes is True
            unknown += answered.yes is None
            if answered.yes is None and answered.verdict is not None:
                reasons.append(answered.why)
                causes.append(answered.verdict.cause)
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
    """Asks the questions of a graph.

    ``field`` is the field of the reply that contains yes or no.

    A question is asked if all its parents were answered yes. If a parent counts as no,
    the question counts as no, even if another parent is unknown. Otherwise, if a parent
    is unknown, the question is unknown. In both cases the judge is not called. A
    question in a cycle, or below a cycle, counts as no. If a parent does not exist, or
    is the question itself, it is ignored and recorded as a fault. Questions that share
    an id are also a fault, and their children are asked only if all these questions
    were answered yes.

    With ``lost_is_no``, a question counts as no instead of unknown if its replies
    cannot be used. If the judge does not reply at all, the question is always unknown.
    With ``repeats``, the majority of the replies decides.
    """
    graph = _Graph(questions)
    if dependencies == "never_asked":
        why = "it has parents, and these are never asked"
        for place, question in enumerate(questions):
            if question.parents:
                graph.settle(place, GraphVerdict(question.id, yes=False, why=why))
    asked: list[GraphId] = []
    while wave := graph.wave():
        asked += [questions[place].id for place, _ in wave]
        with_examples = [_with_example(ready, field) for _, ready in wave]
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
    """The verdict of each question so far, and the questions that can be asked now.

    Questions are referred to by their position.
    """

    def __init__(self, questions: Sequence[GraphQuestion]) -> None:
        self.faults: list[str] = []
        self._questions = questions
        self._verdicts: list[GraphVerdict | None] = [None] * len(questions)
        self._children: list[list[int]] = [[] for _ in questions]
        self._open = [0] * len(questions)
        """The number of parents without a verdict, for each question."""
        self._unknown_parent: dict[int, GraphId] = {}
        places: dict[GraphId, list[int]] = {}
        for place, node in enumerate(questions):
            places.setdefault(node.id, []).append(place)
        for id, same_id in places.items():
            if len(same_id) > 1:
                self.faults.append(f"{len(same_id)} questions have the id {id!r:.80}")
        for place, node in enumerate(questions):
            for parent in dict.fromkeys(node.parents):
                above = [other for other in places.get(parent, ()) if other != place]
                if parent == node.id:
                    self.faults.append(f"{node.id!r:.80} is its own parent")
                elif not above:
                    self.faults.append(
                        f"{node.id!r:.80} has the parent {parent!r:.80}, which does "
                        "not exist"
                    )
                else:
                    self._open[place] += len(above)
                    for other in above:
                        self._children[other].append(place)
        self._ready = [place for place, count in enumerate(self._open) if not count]
        for place, node in enumerate(questions):
            if node.question is None:
                verdict = GraphVerdict(node.id, yes=False, why=node.unaskable)
                self.settle(place, verdict)

    def wave(self) -> list[tuple[int, Question]]:
        """Takes the questions that can be asked now, each with its position."""
        wave = []
        for place in sorted(self._ready):
            question = self._questions[place].question
            if self._verdicts[place] is None and question is not None:
                wave.append((place, question))
        self._ready = []
        return wave

    def settle(self, place: int, verdict: GraphVerdict) -> None:
        """Records a verdict, and the verdicts of descendants that follow from it."""
        # A loop instead of recursion, because chains may be long.
        settled = [(place, verdict)]
        while settled:
            place, verdict = settled.pop()
            if self._verdicts[place] is not None:
                continue
            self._verdicts[place] = verdict
            for child in self._children[place]:
                child_id = self._questions[child].id
                if verdict.yes is False:
                    below = GraphVerdict(child_id, yes=False, why=f"{verdict.id} is no")
                    settled.append((child, below))
                    continue
                if verdict.yes is None:
                    self._unknown_parent.setdefault(child, verdict.id)
                self._open[child] -= 1
                if self._open[child]:
                    continue
                if child in self._unknown_parent:
                    why = f"{self._unknown_parent[child]} is unknown"
                    settled.append((child, GraphVerdict(child_id, yes=None, why=why)))
                else:
                    self._ready.append(child)

    def verdicts(self) -> tuple[GraphVerdict, ...]:
        """Returns all verdicts at the end.

        Questions without a verdict at this point are in a cycle or below a cycle.
        """
        verdicts = []
        in_cycle = []
        for node, verdict in zip(self._questions, self._verdicts, strict=True):
            if verdict is None:
                why = "it is in a cycle, or depends on one"
                verdicts.append(GraphVerdict(node.id, yes=False, why=why))
                in_cycle.append(repr(node.id)[:80])
            else:
                verdicts.append(verdict)
        if in_cycle:
            named = listed(in_cycle, MOST_NAMED)
            self.faults.append(f"in a cycle, or dependent on one: {named}")
        return tuple(verdicts)


def _with_example(question: Question, field: str) -> Question:
    """Returns the question with a yes as the example of its reply.

    This makes a dry run count the question's children.
    """
    form = question.form
    if form.example:
        return question
    example = json.dumps({field: "yes"})
    return replace(question, form=replace(form, example=example))
