"""Rubrics: a row's weighted criteria, each judged separately."""

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
from mmeval.program import JudgePrompt, Program, PromptValue, Role
from mmeval.records import CAUSES, Sample, Score, Trial

CriterionSide = Literal["all", "text", "media"]
FORM = ReplyForm((Text("reason"), YesNo("met", unsure=True)))
_KEYS = {"id", "criterion", "weight", "side", "kinds"}


@dataclass(frozen=True)
class Criterion:
    """A criterion of a rubric.

    ``side`` is the part of the answer that the judge sees. ``kinds`` are the kinds of
    media that it sees (empty: all).
    """

    id: str
    text: str
    weight: float = 1.0
    side: CriterionSide = "all"
    kinds: tuple[str, ...] = ()

    def view(self, answer: Interleaved | None) -> Interleaved:
        """Returns what the judge sees of an answer.

        With ``text`` each medium is a placeholder. With ``media`` the words are left
        out.
        """
        if answer is None or self.side == "text":
            return shown(answer, media=False)
        parts: list[Part] = []
        for part in shown(answer).parts:
            if part.media is None:
                is_visible = self.side == "all"
            else:
                is_visible = not self.kinds or part.kind in self.kinds
            if is_visible:
                parts.append(part)
        return Interleaved(tuple(parts))


def rubric_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    """Returns why a row's rubric cannot be used; empty if it can."""
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
    prompt: Annotated[PromptValue, JudgePrompt(*NAMES, "criterion")] = "rubric_judge",
) -> Program[Score]:
    """The weighted share of the row's criteria that a judge considers met.

    Range 0 to 1, higher is better. ``criteria`` names the row's label with the
    criteria: a list of texts, or of mappings with ``criterion`` and any of ``id``,
    ``weight`` (above 0; 1 by default), ``side`` (``all``, ``text`` or ``media``: what
    the judge sees of the answer) and ``kinds`` (the kinds of media that it sees). Each
    criterion has its own judge call, so that only a changed criterion is judged again.

    The answer is unscored if a criterion has no verdict or the judge is not sure. The
    bounds are the scores if none or all of these criteria are met. A row without a
    rubric is unscored.

    The judge sees the sample's input with ``show_input`` and all references with
    ``show_references``. ``media: false`` hides the media in all of these, and every
    side becomes ``text``. ``repeats`` is the number of judge calls per criterion, and
    ``combine`` combines them into one verdict: ``majority``, or ``mean`` for the share
    of yes. Evidence: ``criteria``, each with its verdict, the judge's reason, the votes
    and their spread.

    Labels, for example: ``{"rubric": ["it names a hare"]}``.

    Example: with the weights 2 and 1, and only the first criterion met, the score
    is 2 / 3.
    """
    if fault := rubric_fault(trial.sample, {"criteria": criteria}):
        return Score.unscored(fault)
    rubric = read_criteria(trial.sample.metadata[criteria])
    shared_values = material(
        trial, show_input=show_input, show_references=show_references, media=media
    )
    questions: list[Question] = []
    for criterion in rubric:
        values: Material = {**shared_values, "criterion": criterion.text}
        # Without media every side is the text, which the shared values contain.
        if media:
            values["answer"] = criterion.view(trial.output)
        questions.append(Question(judge, FORM, prompt, values))
    verdicts = yield from ask_verdicts(questions, repeats=repeats, combine=combine)
    evidence: list[dict[str, Any]] = []
    met_weights: list[float] = []
    missing: list[Verdict] = []
    missing_weights: list[float] = []
    for criterion, verdict in zip(rubric, verdicts, strict=True):
        row = {
            "id": criterion.id,
            "criterion": criterion.text,
            "weight": criterion.weight,
            "met": None,
        }
        evidence.append({**row, **verdict.evidence, **verdict.loss})
        met_weights.append(criterion.weight * float(verdict.values.get("met") or 0))
        if verdict.unknown("met"):
            missing.append(verdict)
            missing_weights.append(criterion.weight)
    total = sum(criterion.weight for criterion in rubric)
    if not missing:
        return Score(sum(met_weights) / total, evidence={"criteria": evidence})
    highest = sum(met_weights) + sum(missing_weights)
    return Score(
        status="unscored",
        reason=missing[0].unknown("met"),
        evidence={"criteria": evidence},
        bounds=(sum(met_weights) / total, highest / total),
        cause=min((verdict.cause for verdict in missing), key=CAUSES.index),
    )


def read_criteria(rubric: Any) -> list[Criterion]:
    """Reads the criteria of a row. Raises ValueError if they are invalid."""
    if not isinstance(rubric, list | tuple) or not rubric:
        raise ValueError("it is not a list of criteria")
    criteria = [_criterion(item, number) for number, item in enumerate(rubric, start=1)]
    if len({criterion.id for criterion in criteria}) < len(criteria):
        raise ValueError("two criteria have the same id")
    return criteria


def _criterion(item: Any, number: int) -> Criterion:
    row: Any = {"criterion": item} if isinstance(item, str) else item
    if not isinstance(row, Mapping) or row.keys() - _KEYS:
        keys = ", ".join(sorted(_KEYS))
        raise ValueError(
            f"criterion {number} is neither a text nor a mapping with keys from {keys}"
        )
    text, weight = row.get("criterion"), row.get("weight", 1)
    side, kinds = row.get("side", "all"), row.get("kinds", ())
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"criterion {number} has no text")
    if type(weight) not in (int, float) or not 0 < weight < float("inf"):
        raise ValueError(
            f"criterion {number} has the weight {weight!r:.40}; it must be a number "
            "above 0"
        )
    if side not in get_args(CriterionSide):
        raise ValueError(
            f"criterion {number} has the side {side!r:.40}; it must be all, text or "
            "media"
        )
    is_list = isinstance(kinds, list | tuple)
    if not is_list or not all(kind in PART_KINDS for kind in kinds):
        raise ValueError(
            f"criterion {number} has the kinds {kinds!r:.80}; write a list of kinds "
            "such as image or audio"
        )
    id = str(row.get("id", number))
    return Criterion(id, text, float(weight), side, tuple(kinds))
