"""ISG-Bench's third level: the content of the pictures."""

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
from mmeval.program import JudgePrompt, Program, PromptValue, Role
from mmeval.records import Score, Trial

Prompt = Annotated[PromptValue, JudgePrompt("picture", "question", form=False)]


@metric(
    range=(0, 1),
    version="3",  # the judge is not asked to be strict
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
    """The share of the questions about the pictures that a judge answers with yes.

    Range 0 to 1, higher is better. The score is 0 without a judge call if the order of
    the blocks differs from the golden answer. The metric is inapplicable to a row
    without questions; with ``reading: official`` the score is 0 instead. A question
    about a missing picture counts as no. With ``dependencies: followed`` a question is
    only asked if every question that it depends on was answered with yes. If one of
    these was answered with no, the question counts as no. With ``dependencies:
    never_asked`` every question that depends on another counts as no, as in the
    released script.

    ``reading: robust`` accepts every reply with the key ``Judge``. A string that begins
    with yes counts as yes. With ``reading: official`` only a string that is exactly yes
    counts as yes. A reply without ``Judge`` counts as no, and a value that is not a
    string makes the score of the whole sample 0. The answer is unscored, with bounds,
    if a question has no verdict; the questions that depend on it then have no verdict
    either. ``lost: wrong`` counts unusable replies as no. ``analyze_first`` requests
    the reason before the verdict. Evidence: the ids of the questions that were
    ``asked``, the ``verdicts`` by id, and why the other questions were not asked.

    Labels, for example: ``{"predict": {"image_qa": {"questions": [{"image":
    "<gen_img1>", "Question": "Is there a hare in this image?", "id": 0, "Preliminary":
    []}]}}}``.
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
        block = blocks.get(row.image)
        question = None
        reason = "it has no words"
        if row.words and block and block.kind == "image" and is_shown(block):
            values: Material = {
                "picture": Interleaved((block,)),
                "question": row.words,
            }
            question, reason = Question(judge, form, prompt, values), ""
        elif row.words:
            name = row.image or "the question"
            reason = f"{name:.40} does not name a picture of this answer"
        questions.append(GraphQuestion(row.id, question, row.parents, reason))
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
        reason = f"{ENDS_HERE}: a Judge is not a text"
        return Score(0.0, evidence={**graph.evidence, **counted, "reason": reason})
    return graph.share(**counted)
