"""Writes answers in the files of UEval's own scripts, and of a scored run their file of
results.

answers.json       the answers (:mod:`mmeval.tasks.ueval.output_reading`)
images/<id>_<n>    their pictures; media of other kinds are in other/
results.json       each question with its verdicts, and the means over questions
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mmeval.aggregate import known_mean
from mmeval.interchange import (
    OWN,
    AnsweredRun,
    Exported,
    ExportFolder,
    ScoredTrial,
    stem_of,
)
from mmeval.metrics.judged.ueval.replies import EXPLANATION, KEY
from mmeval.metrics.judged.ueval.ueval_rubric import OUTPUTS
from mmeval.records import Sample, Score, Trial
from mmeval.tasks.ueval.loader import TASK
from mmeval.tasks.ueval.output_reading import (
    ANSWERS,
    IMAGE,
    REPEAT,
    TEXT,
    plain_answer,
    seal,
)

RESULTS, RESULTS_REPEAT = "results.json", "results_repeat{}.json"
NOTES = {
    "exact": f"more than a text and pictures after it; its parts stand under {OWN!r}",
    "repeats": f"further ones to the same question, in {REPEAT.format('<n>')}",
}


def write_output(run: AnsweredRun, folder: Path) -> Exported:
    """Fill the folder of one model. Raises what :meth:`ExportFolder.fill` raises."""
    return _Writer(folder).fill(run)


class _Writer(ExportFolder):
    """Collects the entries of each repeat, and writes the media of an answer at
    once."""

    benchmark, entry, notes, scored = "UEval", "entry", NOTES, True
    unanswered = f"the entries are empty, and say so under {OWN!r} alone"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._answers: dict[int, list[dict[str, Any]]] = {}
        self._results: dict[int, list[dict[str, Any]]] = {}

    def takes(self, sample: Sample) -> bool:
        return TASK in sample.metadata

    def add(self, one: ScoredTrial) -> None:
        entry, repeat = self._entry(one.trial), one.trial.repeat
        self._answers.setdefault(repeat, []).append(entry)
        if any(name in one.scores for name in OUTPUTS):
            self._results.setdefault(repeat, []).append(_item(one, entry))

    def finish(self) -> Sequence[str]:
        for repeat, entries in self._answers.items():
            self._write(REPEAT.format(repeat) if repeat else ANSWERS, entries)
        for repeat, items in self._results.items():
            document = {"items": items, "summary": _summary(items)}
            self._write(RESULTS_REPEAT.format(repeat) if repeat else RESULTS, document)
        scored, asked = (
            sum(map(len, found.values())) for found in (self._results, self._answers)
        )
        if 0 < scored < asked:
            return [f"questions without scores, not in {RESULTS}: {asked - scored:,}"]
        return []

    def _write(self, name: str, document: Any) -> None:
        (self.path / name).write_text(
            json.dumps(document, indent=1, allow_nan=False) + "\n"
        )

    def _entry(self, trial: Trial) -> dict[str, Any]:
        own, output, files = self.own(trial), trial.output, dict[str, str]()
        if output is None:
            return {"id": trial.sample.id, TEXT: "", IMAGE: [], OWN: own}
        pictures = [
            part.media
            for part in output.parts
            if part.kind == "image" and part.media is not None
        ]
        stem = stem_of(trial.sample.id, trial.repeat)
        for number, medium in enumerate(dict.fromkeys((*pictures, *output.media())), 1):
            kind = "images" if medium in pictures else "other"
            files[medium.sha256] = self.put(medium, f"{kind}/{stem}_{number}")
        names = [files[picture.sha256] for picture in pictures]
        if plain_answer(output.words, pictures) != output:
            own |= self.exact(output, files, seal(output.words, names))
        return {
            "id": trial.sample.id,
            TEXT: output.words,
            IMAGE: names,
            **({OWN: own} if own else {}),
        }


def _item(one: ScoredTrial, entry: Mapping[str, Any]) -> dict[str, Any]:
    """A question in the file of results."""
    sample = one.trial.sample
    text, image = (
        one.scores.get(name, Score.unscored("not scored")) for name in OUTPUTS
    )
    return {
        "id": sample.id,
        "question": sample.question,
        "question_type": image.evidence.get("kind"),
        TEXT: entry[TEXT],
        "image_outputs": entry[IMAGE],
        "text_results": _verdicts(text),
        "image_results": _verdicts(image),
        "text_score": _rate(text),
        "image_score": _rate(image),
    }


def _verdicts(score: Score) -> list[dict[str, Any]]:
    return [
        {
            "criterion": row["criterion"],
            KEY: row["raw"]
            if row.get("remark") in ("not_sure", "odd_value")
            else row["met"],
            EXPLANATION: row.get(EXPLANATION, ""),
            "raw_response": row.get("reply", ""),
        }
        for row in score.evidence.get("criteria", ())
    ]


def _rate(score: Score) -> dict[str, Any]:
    return {
        "met": score.evidence.get("met", 0),
        "total": score.evidence.get("total", 0),
        "rate": score.value,
    }


def _summary(items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    text, image = (
        [item[f"{side}_score"]["rate"] for item in items] for side in ("text", "image")
    )
    return {
        "num_items": len(items),
        "text_avg_rate": known_mean(text),
        "image_avg_rate": known_mean(image),
        "num_items_with_text": sum(rate is not None for rate in text),
        "num_items_with_image": sum(rate is not None for rate in image),
    }
