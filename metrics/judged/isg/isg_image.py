"""ISG-Bench's third level: do the pictures hold what the task asks for?"""

from __future__ import annotations

from typing import Annotated

from mmeval.media import Interleaved
from mmeval.metric import metric
from mmeval.metric.judge import (
    UNREAD,
    Dependencies,
    GraphQuestion,
    Question,
    ask_graph,
)
from mmeval.metrics.judged.isg.pairs import is_unfit
from mmeval.metrics.judged.isg.replies import VERDICT, yes_form
from mmeval.metrics.judged.isg.rows import (
    ENDS_HERE,
    image_questions,
    is_shown,
    structure_fault,
    tokens_of,
    unscorable,
)
from mmeval.metrics.judged.material import Material, as_the_reference
from mmeval.metrics.judged.reading import Lost, Reading, is_unread
from mmeval.program import JudgePrompt, Program, Role, Written
from mmeval.records import Score, Trial

Prompt = Annotated[Written, JudgePrompt("picture", "question")]


@metric(
    range=(0, 1),
    version="2",
    source="ISG (ICLR 2025), image level; official: its released script de504cdd",
    profiles={"official": {"reading": "official", "dependencies": "never_asked"}},
    supposed=as_the_reference,
)
def isg_image(
    trial: Trial,
    judge: Role,
    *,
    reading: Reading = "robust",
    dependencies: Dependencies = "followed",
    lost: Lost = "unscored",
    analyze_first: bool = False,
    prompt: Prompt = "isg_image",
) -> Program[Score]:
    """The share of the questions about the pictures to which a judge says yes.

    Range 0 to 1, higher is better. 0 without a call where the order of the blocks is
    not that of the golden answer; inapplicable to a row without questions, which
    ``reading: official`` counts as 0. A question whose picture is not there is no. With
    ``dependencies: followed`` a question is asked after a yes to those that it names,
    and is no after a no; ``never_asked`` does as the released script, where each that
    names another is no.

    ``reading: robust`` takes every reply with a ``Judge``, of which a text that begins
    with yes is yes; ``official`` only a text that is exactly yes; a reply without it is
    no, and one that is no text makes the whole sample 0. Where no verdict came a
    question is unknown, with those below it, and the score is unscored, with bounds;
    ``lost: wrong`` counts replies that cannot be used as no. ``analyze_first`` asks for
    the reason before the verdict. Evidence: the ids of the questions that were
    ``asked``, the ``verdicts`` by id, and why the others were not asked.
    """
    if why := unscorable(trial):
        return Score.unscored(why)
    rows = image_questions(trial.sample, reading)
    no_rows = "the row has no questions about pictures"
    if not rows and reading == "robust":
        return Score.inapplicable(no_rows)
    fault = structure_fault(trial, reading, pictures_alone=True)
    if fault or not rows:
        return Score(0.0, evidence={"asked": [], "reason": fault or no_rows})
    blocks = tokens_of(trial)
    form = yes_form(reading, analyze_first=analyze_first)
    questions: list[GraphQuestion] = []
    for row in rows:
        shown = blocks.get(row.image)
        question = None
        why = "it has no words"
        if row.words and shown and shown.kind == "image" and is_shown(shown):
            values: Material = {
                "picture": Interleaved((shown,)),
                "question": row.words,
            }
            question, why = Question(judge, form, prompt, values), ""
        elif row.words:
            why = f"{row.image or 'no picture':.40} is no picture of this answer"
        questions.append(GraphQuestion(row.id, question, row.parents, why))
    graph = yield from ask_graph(
        questions, field=VERDICT, dependencies=dependencies, lost_is_no=lost == "wrong"
    )
    unread, unfit = 0, False
    for node in graph.verdicts:
        if node.verdict is not None:
            unread += is_unread(node.verdict, lost)
            unfit = unfit or is_unfit(node.verdict)
    counted = {UNREAD: unread} if unread else {}
    if unfit:
        why = f"{ENDS_HERE}: a Judge is no text"
        return Score(0.0, evidence={**graph.evidence, **counted, "reason": why})
    return graph.share(**counted)
