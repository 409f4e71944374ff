"""Question graphs: a row's yes-or-no questions, which may depend on each other."""

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
    as_the_reference,
    label_fault,
    question_content,
    with_other_digest,
)
from mmeval.metrics.judged.reading import Lost
from mmeval.program import JudgePrompt, Program, PromptValue, Role
from mmeval.records import Sample, Score, Trial

MAX_PARTS = 10_000
"""Maximum number of parts of a kind in the answer of a dry run, since a row may name
any number."""
_KEYS = {"id", "question", "parents", "part"}


@dataclass(frozen=True)
class RowQuestion:
    """A question of a row.

    ``part`` is the label of the part that the question is about, and empty for the
    whole answer.
    """

    id: str | int
    text: str
    parents: tuple[str | int, ...] = ()
    part: str = ""


def graph_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    """Returns why a row's questions cannot be used; empty if they can."""
    return label_fault(sample, switches["questions"], "questions", read_questions)


def _supposed(trial: Trial, switches: Mapping[str, Any]) -> Interleaved:
    """Returns an answer with every part that a question is about.

    The answer is like the reference if the reference contains all these parts. If not,
    the parts are made up.
    """
    if graph_fault(trial.sample, switches):
        return trial.output or Interleaved()
    labels: set[str] = set()
    for question in read_questions(trial.sample.metadata[switches["questions"]]):
        if question.part:
            labels.add(question.part)
    reference = as_the_reference(trial, switches)
    if labels <= parts_by_label(reference).keys():
        return reference
    output_parts = parts_by_label(trial.output or Interleaved())
    parts: list[Part] = []
    for kind in PART_KINDS:
        first = output_parts.get(f"{kind}1")
        if first is None:
            continue
        numbers: list[int] = []
        for label in labels:
            if label_kind(label) == kind:
                numbers.append(int(label.removeprefix(kind)))
        for number in range(min(max(numbers, default=1), MAX_PARTS)):
            name = f"{trial.sample.id} {trial.repeat} {number}"
            parts.append(with_other_digest(first, name))
            if kind == "text":
                # This keeps the texts apart, since neighbouring texts are one part.
                parts.append(Part("code", text=""))
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
        PromptValue, JudgePrompt("answer", "input", "question", "shown")
    ] = "question_graph",
) -> Program[Score]:
    """The share of the row's questions that a judge answers with yes.

    Range 0 to 1, higher is better. ``questions`` names the row's label with the
    questions: a list of texts, or of mappings with ``question`` and optional keys. By
    default ``id`` is the question's number in the list. ``parents`` are the ids of
    questions that must be answered with yes before this question is asked. ``part``
    (such as ``image2``, the second picture) is the only part of the answer that the
    judge sees. The default is the whole answer. Neighbouring texts count as one part.
    With ``show_input`` the judge also sees the sample's input. With ``repeats`` each
    question is asked several times, and the majority decides.

    A question is not asked, and counts as no, if a question that it depends on was
    answered no. The same applies to a question in a cycle, and to a question about a
    part that is missing from the answer. Questions about a kind of part that was not
    requested from the model are left out. With ``dependencies: never_asked`` every
    question with parents counts as no.

    The answer is unscored if a verdict is lost or the judge is not sure. The bounds are
    the scores if this question and those that depend on it all count as no, or all as
    yes. With ``lost: wrong`` a question without a readable reply counts as no. The
    metric is unscored for a row without a list of questions, and inapplicable for an
    empty list.

    Evidence: the ids that were ``asked`` in order, the ``verdicts`` by id, the reasons
    for questions ``not_asked``, the judge's words (``said``), and ``faults`` of the
    graph.

    Labels, for example: ``{"questions": [{"id": 1, "question": "Is there a hare?",
    "part": "image1"}, {"question": "Is it brown?", "parents": [1]}]}``.
    """
    if fault := graph_fault(trial.sample, {"questions": questions}):
        return Score.unscored(fault)
    all_rows = read_questions(trial.sample.metadata[questions])
    rows = [row for row in all_rows if label_kind(row.part) not in trial.left_out]
    if not all_rows:
        return Score.inapplicable("the row has no questions")
    if not rows:
        return Score.inapplicable("the model was not asked for the kinds of part")
    omitted = {row.id for row in all_rows}
    omitted -= {row.id for row in rows}
    answer = trial.output or Interleaved()
    parts = parts_by_label(answer)
    question_input = question_content(trial.sample) if show_input else ""
    graph: list[GraphQuestion] = []
    for row in rows:
        view = _view(answer, parts, row.part)
        parents = [parent for parent in row.parents if parent not in omitted]
        if isinstance(view, str):
            graph.append(GraphQuestion(row.id, None, parents, view))
            continue
        values: Material = {
            "answer": view,
            "input": question_input,
            "question": row.text,
            "shown": "part" if row.part else "answer",
        }
        question = Question(judge, FORM, prompt, values)
        graph.append(GraphQuestion(row.id, question, parents))
    answered = yield from ask_graph(
        graph, dependencies=dependencies, lost_is_no=lost == "wrong", repeats=repeats
    )
    return answered.share()


def _view(
    answer: Interleaved, parts: Mapping[str, Part], label: str
) -> Interleaved | str:
    """Returns what the judge sees of an answer, or why there is nothing to see."""
    if not label and answer.empty:
        return "the answer is empty"
    if not label:
        return shown(answer)
    part = parts.get(label)
    if part is None or part.dangling:
        return f"the answer has no {label}"
    return Interleaved((part,))


def parts_by_label(answer: Interleaved) -> dict[str, Part]:
    """Returns the parts of an answer by label (``image2``).

    Neighbouring texts are one part.
    """
    counts: Counter[str] = Counter()
    parts: dict[str, Part] = {}
    for part in answer.blocks().parts:
        if part.kind != "reasoning":
            counts[part.kind] += 1
            parts[f"{part.kind}{counts[part.kind]}"] = part
    return parts


def read_questions(rows: Any) -> list[RowQuestion]:
    """Reads the questions of a row. Raises ValueError if they are invalid."""
    if not isinstance(rows, list | tuple):
        raise ValueError("it is not a list of questions")
    return [_row(item, number) for number, item in enumerate(rows, start=1)]


def _row(item: Any, number: int) -> RowQuestion:
    row: Any = {"question": item} if isinstance(item, str) else item
    if not isinstance(row, Mapping) or row.keys() - _KEYS:
        keys = ", ".join(sorted(_KEYS))
        raise ValueError(
            f"question {number} is neither a text nor a mapping with keys from {keys}"
        )
    fields = {key: value for key, value in row.items() if value is not None}
    text, part = fields.get("question"), fields.get("part", "")
    id, parents = fields.get("id", number), fields.get("parents", ())
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"question {number} has no text")
    is_list = isinstance(parents, list | tuple)
    ids = [id, *parents] if is_list else []
    if not ids or not all(type(value) in (int, str) for value in ids):
        raise ValueError(
            f"question {number} has an id or parents that are neither texts nor whole "
            "numbers"
        )
    label = canonical_label(part) if isinstance(part, str) else ""
    is_label = label_kind(label) in PART_KINDS and label[-1:].isdigit()
    if part and not is_label:
        raise ValueError(
            f"question {number} has the part {part!r:.40}; it must be a kind and a "
            "number, such as image1"
        )
    return RowQuestion(id, text, tuple(parents), label)
