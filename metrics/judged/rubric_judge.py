"""Rubrics: the row's own criteria, each judged by itself, weighted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from mmeval.media import PART_KINDS, Interleaved, Part
from mmeval.metric import metric
from mmeval.metric.judge import (
    Combine,
    Question,
    Repeats,
    ReplyForm,
    Text,
    Verdict,
    YesNo,
    ask_verdicts,
    shown,
)
from mmeval.metrics.judged.material import NAMES, Material, label_fault, material
from mmeval.program import JudgePrompt, Program, Role, Written
from mmeval.records import CAUSES, Sample, Score, Trial

Side = Literal["all", "text", "media"]
FORM = ReplyForm((Text("reason"), YesNo("met", unsure=True)))
_KEYS = {"id", "criterion", "weight", "side", "kinds"}


@dataclass(frozen=True)
class Criterion:
    """One line of a rubric. ``side`` is the part of the answer that the judge sees,
    ``kinds`` its media (empty: all)."""

    id: str
    text: str
    weight: float = 1.0
    side: Side = "all"
    kinds: tuple[str, ...] = ()

    def seen(self, answer: Interleaved | None) -> Interleaved:
        """The side of an answer that it is about. With ``text`` each medium is a
        placeholder, with ``media`` the words are left out."""
        if answer is None or self.side == "text":
            return shown(answer, media=False)
        kept: list[Part] = []
        for part in shown(answer).parts:
            if part.media is None:
                is_seen = self.side == "all"
            else:
                is_seen = not self.kinds or part.kind in self.kinds
            if is_seen:
                kept.append(part)
        return Interleaved(tuple(kept))


def rubric_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    """Why a row's rubric cannot be used; empty when it can."""
    return label_fault(sample, switches["criteria"], "rubric", read_criteria)


@metric(
    range=(0, 1),
    version="1",
    source="our own, with the prompt of the same name",
    check=rubric_fault,
)
def rubric_judge(
    trial: Trial,
    judge: Role,
    *,
    criteria: str = "rubric",
    show_input: bool = True,
    show_references: bool = False,
    media: bool = True,
    repeats: Repeats = 1,
    combine: Combine = "majority",
    prompt: Annotated[Written, JudgePrompt(*NAMES, "criterion")] = "rubric_judge",
) -> Program[Score]:
    """The weighted share of the row's criteria that a judge finds met.

    Range 0 to 1, higher is better. ``criteria`` names the row's label that holds them:
    a list of texts, or of mappings with ``criterion`` and any of ``id``, ``weight``
    (above 0; 1 if not given), ``side`` (``all``, ``text`` or ``media``: what the judge
    sees of the answer) and ``kinds`` (which media it sees). Each is asked separately,
    so that only a reworded criterion is asked again.

    A criterion without a verdict, or one where the judge is not sure, leaves the trial
    unscored; its bounds are the value with none of these met, and with all of them met.
    A row without a rubric is unscored.

    The judge sees the sample's input with ``show_input``, all references with
    ``show_references``; media of the answer as each ``side`` says, media of the others
    unless ``media`` is false, which makes every side ``text``. With ``repeats`` each
    criterion is asked as often, and ``combine`` makes one verdict of it: ``majority``,
    or ``mean`` for the share of yes. Evidence: ``criteria``, each with its verdict, the
    judge's reason, the votes and their spread.
    """
    if fault := rubric_fault(trial.sample, {"criteria": criteria}):
        return Score.unscored(fault)
    rubric = read_criteria(trial.sample.metadata[criteria])
    seen = material(
        trial, show_input=show_input, show_references=show_references, media=media
    )
    questions: list[Question] = []
    for criterion in rubric:
        values: Material = {**seen, "criterion": criterion.text}
        if media:
            values["answer"] = criterion.seen(trial.output)
        questions.append(Question(judge, FORM, prompt, values))
    verdicts = yield from ask_verdicts(questions, repeats=repeats, combine=combine)
    evidence: list[dict[str, Any]] = []
    met: list[float] = []
    unknown: list[Verdict] = []
    unknown_weights: list[float] = []
    for criterion, verdict in zip(rubric, verdicts, strict=True):
        row = {
            "id": criterion.id,
            "criterion": criterion.text,
            "weight": criterion.weight,
            "met": None,
        }
        evidence.append({**row, **verdict.evidence, **verdict.loss})
        met.append(criterion.weight * float(verdict.values.get("met") or 0))
        if verdict.unknown("met"):
            unknown.append(verdict)
            unknown_weights.append(criterion.weight)
    whole = sum(criterion.weight for criterion in rubric)
    if not unknown:
        return Score(sum(met) / whole, evidence={"criteria": evidence})
    highest = sum(met) + sum(unknown_weights)
    return Score(
        status="unscored",
        reason=unknown[0].unknown("met"),
        evidence={"criteria": evidence},
        bounds=(sum(met) / whole, highest / whole),
        cause=min((verdict.cause for verdict in unknown), key=CAUSES.index),
    )


def read_criteria(rubric: Any) -> list[Criterion]:
    """The criteria of a row. Raises ValueError that says what is wrong with them."""
    if not isinstance(rubric, list | tuple) or not rubric:
        raise ValueError("it is no list of criteria")
    criteria = [_criterion(item, number) for number, item in enumerate(rubric, start=1)]
    if len({one.id for one in criteria}) < len(criteria):
        raise ValueError("two criteria have the same id")
    return criteria


def _criterion(item: Any, number: int) -> Criterion:
    row: Any = {"criterion": item} if isinstance(item, str) else item
    if not isinstance(row, Mapping) or row.keys() - _KEYS:
        keys = ", ".join(sorted(_KEYS))
        raise ValueError(f"criterion {number} is no text and no mapping of {keys}")
    text, weight = row.get("criterion"), row.get("weight", 1)
    side, kinds = row.get("side", "all"), row.get("kinds", ())
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"criterion {number} has no text")
    if type(weight) not in (int, float) or not 0 < weight < float("inf"):
        raise ValueError(
            f"criterion {number} has the weight {weight!r:.40}; it must be a number "
            "above 0"
        )
    if side not in get_args(Side):
        raise ValueError(
            f"criterion {number} has the side {side!r:.40}; it must be all, text or "
            "media"
        )
    is_list = isinstance(kinds, list | tuple)
    if not is_list or not all(kind in PART_KINDS for kind in kinds):
        raise ValueError(
            f"criterion {number} has the kinds {kinds!r:.80}; they must be a list of "
            "kinds of part"
        )
    id = str(row.get("id", number))
    return Criterion(id, text, float(weight), side, tuple(kinds))
