"""Writes answers in the files of ISG-Bench's own scripts, and of a scored run their
judge file.

outputs.jsonl                 the answers with ``Query`` and ``Golden``
                              (:mod:`mmeval.tasks.isg.output_reading`)
outputs_0_<n>_judge.jsonl     the same lines with the verdicts of the four levels
outputs/<id>_g<n>             the pictures of the answers; media of other kinds are in
                              other/
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmeval.content import Interleaved, media_part, text_part
from mmeval.interchange import (
    OWN,
    AnsweredRun,
    Exported,
    ExportFolder,
    ScoredTrial,
    stem_of,
)
from mmeval.metrics.judged.isg.replies import DIMENSIONS, OVERALL, REASON, VERDICT
from mmeval.metrics.judged.isg.rows import (
    BLOCK_QUESTIONS,
    CATEGORY,
    ENDS_HERE,
    GRAPH,
    IMAGE_QUESTIONS,
    listed,
    predict_of,
    structure_of,
)
from mmeval.metrics.judged.reading import UNREADABLE
from mmeval.records import Sample, Score, Trial
from mmeval.tasks.isg.loader import PATHS
from mmeval.tasks.isg.output_reading import OUTPUTS, REPEAT, seal

JUDGED = "_0_{}_judge.jsonl"
GAPS = {
    "unjudged": "not scored on all four levels; no line in the judge file",
    "null": "a verdict is lost, which is null in the judge file: not unknown there, "
    "but left out, no or 1",
}
NOTES = {
    "exact": f"more than texts and pictures; its parts stand under {OWN!r}",
    "repeats": f"further ones to the same question, in {REPEAT.format('<n>')}",
}
SCORES = ("isg_structural", "isg_block", "isg_image", "isg_holistic")


def write_output(run: AnsweredRun, folder: Path) -> Exported:
    """Fill the folder of one model. Raises what :meth:`ExportFolder.fill` raises."""
    return _Writer(folder).fill(run)


class _Writer(ExportFolder):
    """Collects the rows of each repeat, and writes the media of an answer at once."""

    benchmark, entry, gaps, notes, scored = "ISG-Bench", "line", GAPS, NOTES, True
    unanswered = f"their output is null, and {OWN!r} says why"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._rows: dict[int, dict[str, dict[str, Any]]] = {}
        self._judged: dict[int, dict[str, dict[str, Any]]] = {}

    def takes(self, sample: Sample) -> bool:
        return {CATEGORY, GRAPH, PATHS} <= sample.metadata.keys()

    def add(self, one: ScoredTrial) -> None:
        self._rows.setdefault(one.trial.repeat, {})[one.trial.sample.id] = self._line(
            one.trial
        )
        self.again(one)

    def again(self, one: ScoredTrial) -> None:
        if one.trial.output is not None and any(name in one.scores for name in SCORES):
            self._judge(one, self._rows[one.trial.repeat][one.trial.sample.id])

    def _judge(self, one: ScoredTrial, line: Mapping[str, Any]) -> None:
        """Keep an answer's line of the judge file, if it has all four levels."""
        levels = [one.scores.get(name) for name in SCORES]
        if not all(
            score is not None
            and (score.status != "unscored" or "asked" in score.evidence)
            for score in levels
        ):
            self.counts["unjudged"] += 1
            return
        empty = structure_of(one.trial.output) == ""
        self.counts["null"] += not empty and any(
            score is not None and score.status == "unscored" for score in levels
        )
        judged = {} if empty else {"result": result_of(one)}
        self._judged.setdefault(one.trial.repeat, {})[one.trial.sample.id] = {
            **line,
            **judged,
        }

    def finish(self) -> Sequence[str]:
        for repeat, rows in self._rows.items():
            name = REPEAT.format(repeat) if repeat else OUTPUTS
            self.write_lines(name, rows.values())
            if repeat in self._judged:
                self.write_lines(
                    Path(name).stem + JUDGED.format(len(rows)),
                    self._judged[repeat].values(),
                )
        return ()

    def _line(self, trial: Trial) -> dict[str, Any]:
        sample = trial.sample
        asked = Interleaved(
            tuple(part for message in sample.input for part in message.content.parts)
        )
        head = {
            "id": sample.id,
            "Category": sample.metadata[CATEGORY],
            "Query": _written(asked, sample, "Query"),
        }
        head["Golden"] = (
            _written(sample.references[0], sample, "Golden")
            if sample.references
            else []
        )
        own, output, files = self.own(trial), trial.output, dict[str, str]()
        if output is None:
            return {**head, "output": None, OWN: own}
        pictures = output.media("image")
        stem = stem_of(trial.sample.id, trial.repeat)
        for number, medium in enumerate(dict.fromkeys((*pictures, *output.media())), 1):
            kind = "outputs" if medium in pictures else "other"
            files[medium.sha256] = self.put(medium, f"{kind}/{stem}_g{number}")
        blocks = [
            {
                "type": part.kind,
                "content": part.text
                if part.media is None
                else files[part.media.sha256],
            }
            for part in output.parts
            if part.kind != "reasoning"
        ]
        plain = tuple(
            text_part(part.text or "")
            if part.media is None
            else media_part(part.media, part.kind)
            for part in output.parts
            if part.kind != "reasoning"
        )
        if plain != output.parts:
            own |= self.exact(output, files, seal(blocks))
        return {**head, "output": blocks, **({OWN: own} if own else {})}


def result_of(one: ScoredTrial) -> dict[str, Any]:
    """The levels of a trial as the released judge script writes them; a verdict that is
    lost is null. In the official profile a sample that ends there is an error, and
    pictures whose judging ends it are null."""
    structural, block, image, holistic = (one.scores[name] for name in SCORES)
    if _ends(structural):
        return {"error": structural.evidence["reason"]}
    right = structural.value == 1
    result: dict[str, Any] = {"structure": right}
    if right:
        result["block"] = list(_block_rows(one.trial.sample, block))
        result["image"] = (
            None if _ends(image) else list(_image_rows(one.trial.sample, image))
        )
    return {**result, "holistic": _holistic(holistic)}


def _ends(score: Score) -> bool:
    return str(score.evidence.get("reason", "")).startswith(ENDS_HERE)


def _block_rows(sample: Sample, score: Score) -> Iterator[dict[str, Any]]:
    verdicts = score.evidence.get("verdicts", {})
    for number, row in enumerate(listed(predict_of(sample).get(BLOCK_QUESTIONS))):
        said = verdicts.get(str(number))
        yield {
            **(row if isinstance(row, dict) else {}),
            **({} if said is None else {"VQA_judge_Score": _reply(said)}),
        }


def _image_rows(sample: Sample, score: Score) -> Iterator[dict[str, Any]]:
    """The questions with what the judge said; the evidence has them in the order of the
    row."""
    said, verdicts = score.evidence.get("said", {}), score.evidence.get("verdicts", {})
    unasked = score.evidence.get("not_asked", {})
    rows = listed(predict_of(sample).get(IMAGE_QUESTIONS))
    for row, (name, verdict) in zip(rows, verdicts.items(), strict=False):
        reply = {
            "Judge": "Yes" if verdict == "yes" else "No",
            REASON: said.get(name, {}).get(REASON, ""),
        }
        judged = (
            {}
            if name in unasked
            else {"judge": None if verdict == "unknown" else reply}
        )
        yield {**(row if isinstance(row, dict) else {}), **judged}


def _holistic(score: Score) -> dict[str, Any] | None:
    if OVERALL not in score.evidence:
        return None
    scores = score.evidence.get("dimensions", {})
    said = {
        name: {"score": scores[name], "explanation": ""}
        for name in DIMENSIONS
        if name in scores
    }
    return {**said, OVERALL: score.evidence[OVERALL], "final_thoughts": ""}


def _reply(said: Mapping[str, Any]) -> dict[str, Any] | None:
    """What was said; a reply without ``Judge`` stays without, since null would count as
    a value."""
    if "lost" in said:
        return None
    return {
        **({} if UNREADABLE in said else {VERDICT: said.get(VERDICT)}),
        REASON: said.get(REASON, ""),
    }


def _written(content: Interleaved, sample: Sample, key: str) -> list[dict[str, Any]]:
    """Blocks in the form of the data, pictures by the data's own paths."""
    paths = iter(sample.metadata[PATHS].get(key, ()))
    return [
        {
            "type": part.kind,
            "content": (part.text or "") if part.media is None else next(paths, ""),
        }
        for part in content.parts
    ]
