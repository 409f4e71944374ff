"""Word accuracy: how well a text matches its target, in words or in characters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from mmeval.metric import metric
from mmeval.metrics.text.normalisers import NORMALISERS, Normaliser
from mmeval.records import Sample, Score, Trial

Unit = Literal["word", "character"]
Blanks = Literal["drop", "drop_wanted", "keep"]
"""How spaces between compared characters are treated: removed on both sides, removed
only in the target text, or kept."""


def _check(sample: Sample, switches: Mapping[str, Any]) -> str:
    targets = target_texts(sample, switches["target_key"])
    if isinstance(targets, Score):
        return targets.reason
    return ""


@metric(
    range=(0, 1),
    version="2",
    source="MMMG, text rendering and speech tasks; official: image evaluators "
    "6c7142e8, audio evaluators 54527db8",
    profiles={"official": {"blanks": "drop_wanted"}},
    check=_check,
)
def word_accuracy(
    trial: Trial,
    *,
    target_key: str = "text",
    normalise: Normaliser = "ocr",
    unit: Unit = "word",
    blanks: Blanks = "drop",
) -> Score:
    """1 minus the number of errors per word of the target text, but at least 0.

    Range 0 to 1, higher is better. Errors are substituted, deleted and inserted words.
    The answer's text parts are compared, without placeholders, code and reasoning. A
    target of several texts is compared line by line. A missing line counts as empty,
    and all remaining lines belong to the last text. The errors and the words of all
    lines are added up. The answer is unscored without a target, or if the target is
    empty after normalising.

    Not measured: meaning. A synonym is an error.

    Labels, for example: ``{"text": "the lamp is lit"}``.

    Switches:

    - ``target_key``: the label with the target, a text or several in a list or mapping.
      Without this label the target is the text of the first reference.
    - ``normalise``: ``ocr`` (lowercase, no accents, no ASCII punctuation),
      ``speech`` (Whisper's normaliser of English) or ``none``. With ``ocr`` a text
      without words becomes one special word, so an empty answer matches an empty
      target.
    - ``unit``: ``word`` or ``character``.
    - ``blanks``: spaces between characters: ``drop`` them on both sides,
      ``drop_wanted`` to drop them only in the target (as the released script does), or
      ``keep`` them.

    Evidence: ``errors``, the ``length`` of the target, and both sides in the compared
    form.

    Example: ``mmeval try metric word_accuracy --answer "the lamp lit" --target "the
    lamp is lit"`` gives 0.75.
    """
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    targets = target_texts(trial.sample, target_key)
    if isinstance(targets, Score):
        return targets
    texts = _lines(trial.output.words, len(targets))
    accuracy = accuracy_of(
        zip(texts, targets, strict=True), normalise=normalise, unit=unit, blanks=blanks
    )
    if accuracy.value is None:
        reason = f"undefined: the target text has no {unit}s"
        return Score.unscored(reason, **accuracy.evidence)
    return Score(accuracy.value, evidence=accuracy.evidence)


class Accuracy(NamedTuple):
    """The ``errors`` in a target of ``length`` words or characters."""

    errors: int
    length: int
    found: Sequence[str]
    wanted: Sequence[str]

    @property
    def value(self) -> float | None:
        """The accuracy from 0 to 1, or None if the target texts are empty."""
        if not self.length:
            return None
        return 1.0 - min(self.errors / self.length, 1.0)

    @property
    def evidence(self) -> dict[str, Any]:
        return {
            "errors": self.errors,
            "length": self.length,
            "found": list(self.found),
            "wanted": list(self.wanted),
        }


def accuracy_of(
    pairs: Iterable[tuple[str, str]],
    *,
    normalise: Normaliser = "ocr",
    unit: Unit = "word",
    blanks: Blanks = "drop",
) -> Accuracy:
    """Computes the accuracy over pairs of an answer's text and its target.

    The errors of all pairs are added up. The other arguments are the switches of
    ``word_accuracy``. If a target is empty, each word of the answer is an error.
    """
    clean = NORMALISERS[normalise]
    errors = length = 0
    answers: list[str] = []
    targets: list[str] = []
    for answer_text, target_text in pairs:
        answer, target = _blanked(clean(answer_text), clean(target_text), unit, blanks)
        errors += _errors(answer, target, unit)
        length += _length(target, unit)
        answers.append(answer)
        targets.append(target)
    return Accuracy(errors, length, answers, targets)


def _errors(
    answer: str,
    target: str,
    unit: Unit,
) -> int:
    # jiwer counts errors differently if the target is empty.
    if not target.strip() or not answer.strip():
        return _length(answer, unit) + _length(target, unit)
    import jiwer

    if unit == "word":
        words = jiwer.process_words(target, answer)
        return words.substitutions + words.deletions + words.insertions
    characters = jiwer.process_characters(target, answer)
    return characters.substitutions + characters.deletions + characters.insertions


def _length(text: str, unit: Unit) -> int:
    if unit == "word":
        return len(text.split())
    return len(text.strip())


def _blanked(
    answer: str,
    target: str,
    unit: Unit,
    blanks: Blanks,
) -> tuple[str, str]:
    if unit == "word":
        return " ".join(answer.split()), " ".join(target.split())
    if blanks == "keep":
        return answer.strip(), target.strip()
    target = "".join(target.split())
    if blanks == "drop":
        return "".join(answer.split()), target
    # Official oddity (54527db8): each comma of a transcript is an error. The transcript
    # keeps the spaces that replace punctuation, and the target does not.
    return answer.strip(), target


def target_texts(sample: Sample, key: str) -> list[str] | Score:
    """Returns the texts of the label or of the first reference.

    Returns an unscored score if both are missing, or if the label is invalid.
    """
    label = sample.metadata.get(key)
    if label is None and sample.references:
        label = sample.references[0].words
    if label is None:
        return Score.unscored(
            f"there is no target text: the row has neither {key!r} nor a reference"
        )
    if isinstance(label, str):
        return [label]
    texts = list(label.values()) if isinstance(label, Mapping) else label
    is_list = isinstance(texts, (list, tuple)) and len(texts) > 0
    if is_list and all(isinstance(text, str) for text in texts):
        return list(texts)
    return Score.unscored(
        f"the row's label {key!r} must be a text, or a list or mapping of texts, not "
        f"{label!r:.80}"
    )


def _lines(text: str, count: int) -> list[str]:
    if count == 1:
        return [text]
    lines = text.strip().splitlines()
    last = " ".join(lines[count - 1 :])
    lines = [*lines[: count - 1], last]
    return lines + [""] * (count - len(lines))
