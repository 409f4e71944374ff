"""Question graphs: the row's yes-or-no questions, of which some are asked only after a
yes to others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from mmeval.media import PART_KINDS, Interleaved, Part, canonical_label, label_kind
from mmeval.metric import metric
from mmeval.metric.judge import (
    Dependencies,
    GraphQuestion,
    Question,
    Repeats,
    ask_graph,
    shown,
)
from mmeval.metrics.judged.judge_yes_no import FORM
from mmeval.metrics.judged.material import (
    Material,
    another,
    as_the_reference,
    asked_of,
    label_fault,
)
from mmeval.metrics.judged.reading import Lost
from mmeval.program import JudgePrompt, Program, Role, Written
from mmeval.records import Sample, Score, Trial

MOST_PARTS = 10_000
"""Of each kind, in the answer of a dry run, as a row may name any number."""
_KEYS = {"id", "question", "parents", "part"}


@dataclass(frozen=True)
class RowQuestion:
    """One question of a row; ``part`` is the label of what it is about, empty for the
    whole answer."""

    id: str | int
    text: str
    parents: tuple[str | int, ...] = ()
    part: str = ""


def graph_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    """Why a row's questions cannot be used; empty when they can."""
    return label_fault(sample, switches["questions"], "questions", read_questions)


def _supposed(trial: Trial, switches: Mapping[str, Any]) -> Interleaved:
    """An answer with every part that a question is about: the reference, else as many
    as are asked about."""
    if graph_fault(trial.sample, switches):
        return trial.output or Interleaved()
    wanted: set[str] = set()
    for question in read_questions(trial.sample.metadata[switches["questions"]]):
        if question.part:
            wanted.add(question.part)
    reference = as_the_reference(trial, switches)
    if wanted <= parts_by_label(reference).keys():
        return reference
    made = parts_by_label(trial.output or Interleaved())
    parts: list[Part] = []
    for kind in PART_KINDS:
        first = made.get(f"{kind}1")
        if first is None:
            continue
        own = [label for label in wanted if label_kind(label) == kind]
        numbers = [int(label.removeprefix(kind)) for label in own]
        for number in range(min(max(numbers, default=1), MOST_PARTS)):
            name = f"{trial.sample.id} {trial.repeat} {number}"
            parts.append(another(first, name))
            if kind == "text":
                parts.append(Part("code", text=""))  # else the texts would be one
    return Interleaved(tuple(parts))


@metric(
    range=(0, 1),
    version="1",
    source="our own, with the prompt of the same name",
    check=graph_fault,
    supposed=_supposed,
)
def question_graph(
    trial: Trial,
    judge: Role,
    *,
    questions: str = "questions",
    dependencies: Dependencies = "followed",
    lost: Lost = "unscored",
    show_input: bool = False,
    repeats: Repeats = 1,
    prompt: Annotated[
        Written, JudgePrompt("answer", "input", "question", "shown")
    ] = "question_graph",
) -> Program[Score]:
    """The share of the row's questions to which a judge answers yes.

    Range 0 to 1, higher is better. ``questions`` names the row's label that holds them:
    a list of texts, or of mappings with ``question`` and any of ``id`` (the number in
    the list if not given), ``parents`` (ids of the questions that must be yes before
    this one is asked) and ``part`` (``image2``: the second picture of the answer, which
    is shown alone; the whole answer if not given). Neighbouring texts count as one
    part. The sample's input is shown too with ``show_input``. With ``repeats`` each
    question is asked as often, and the majority decides.

    Below a question that is no all are no, and are not asked. So is a question in a
    cycle, and one about a part that the answer does not have; questions about a kind
    that the model was not asked for are left out. With ``dependencies: never_asked`` no
    question with parents is asked; all of them are no.

    A verdict that is lost, or of which the judge is not sure, leaves the trial
    unscored, with those below it; its bounds are the share with all of these as no, and
    as yes. With ``lost: wrong`` a question is no of which no reply can be read. A row
    without a list is unscored, one with an empty list is inapplicable.

    Evidence: ``asked`` in order, the ``verdicts`` by id, why one was ``not_asked``,
    what the judge ``said``, and ``faults`` of the graph.
    """
    if fault := graph_fault(trial.sample, {"questions": questions}):
        return Score.unscored(fault)
    every = read_questions(trial.sample.metadata[questions])
    rows = [row for row in every if label_kind(row.part) not in trial.left_out]
    if not every:
        return Score.inapplicable("the row has no questions")
    if not rows:
        return Score.inapplicable("the model was not asked for what they are about")
    unasked = {row.id for row in every}
    unasked -= {row.id for row in rows}
    answer = trial.output or Interleaved()
    parts = parts_by_label(answer)
    asked = asked_of(trial.sample) if show_input else ""
    graph: list[GraphQuestion] = []
    for row in rows:
        seen = _seen(answer, parts, row.part)
        parents = [parent for parent in row.parents if parent not in unasked]
        if isinstance(seen, str):
            graph.append(GraphQuestion(row.id, None, parents, seen))
            continue
        values: Material = {
            "answer": seen,
            "input": asked,
            "question": row.text,
            "shown": "part" if row.part else "answer",
        }
        question = Question(judge, FORM, prompt, values)
        graph.append(GraphQuestion(row.id, question, parents))
    found = yield from ask_graph(
        graph, dependencies=dependencies, lost_is_no=lost == "wrong", repeats=repeats
    )
    return found.share()


def _seen(
    answer: Interleaved, parts: Mapping[str, Part], label: str
) -> Interleaved | str:
    """What the judge is shown of an answer, or why there is nothing to show."""
    if not label and answer.empty:
        return "the answer is empty"
    if not label:
        return shown(answer)
    part = parts.get(label)
    if part is None or part.dangling:
        return f"the answer has no {label}"
    return Interleaved((part,))


def parts_by_label(answer: Interleaved) -> dict[str, Part]:
    """The parts of an answer by kind and number (``image2``); neighbouring texts are
    one part."""
    seen: Counter[str] = Counter()
    found: dict[str, Part] = {}
    for part in answer.blocks().parts:
        if part.kind != "reasoning":
            seen[part.kind] += 1
            found[f"{part.kind}{seen[part.kind]}"] = part
    return found


def read_questions(rows: Any) -> list[RowQuestion]:
    """The questions of a row. Raises ValueError that says what is wrong with them."""
    if not isinstance(rows, list | tuple):
        raise ValueError("it is no list of questions")
    return [_row(item, number) for number, item in enumerate(rows, start=1)]


def _row(item: Any, number: int) -> RowQuestion:
    row: Any = {"question": item} if isinstance(item, str) else item
    if not isinstance(row, Mapping) or row.keys() - _KEYS:
        keys = ", ".join(sorted(_KEYS))
        raise ValueError(f"question {number} is no text and no mapping of {keys}")
    given = {key: value for key, value in row.items() if value is not None}
    text, part = given.get("question"), given.get("part", "")
    id, parents = given.get("id", number), given.get("parents", ())
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"question {number} has no text")
    is_list = isinstance(parents, list | tuple)
    ids = [id, *parents] if is_list else []
    if not ids or not all(type(one) in (int, str) for one in ids):
        raise ValueError(
            f"question {number} has an id or parents that are no text and no whole "
            "number"
        )
    label = canonical_label(part) if isinstance(part, str) else ""
    is_label = label_kind(label) in PART_KINDS and label[-1:].isdigit()
    if part and not is_label:
        raise ValueError(
            f"question {number} has the part {part!r:.40}; it must be a kind and a "
            "number, such as image1"
        )
    return RowQuestion(id, text, tuple(parents), label)
