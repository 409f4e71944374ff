"""ISG-Bench's first level: the order of texts and pictures."""

from __future__ import annotations

from mmeval.metric import metric
from mmeval.metrics.judged.isg.rows import structure_fault, structure_of, unscorable
from mmeval.metrics.judged.reading import Reading
from mmeval.records import Score, Trial

MAX_LETTERS = 200
"""Maximum number of blocks in the evidence."""


@metric(
    range=(0, 1),
    version="1",
    source="ISG (ICLR 2025), structural level; official: its released script de504cdd",
    profiles={"official": {"reading": "official"}},
)
def isg_structural(trial: Trial, *, reading: Reading = "robust") -> Score:
    """1 when texts and pictures are in the order of the golden answer, else 0.

    Range 0 to 1, higher is better. Blocks are compared one by one without tolerance. An
    answer with an extra text scores 0, and so does an empty answer. Hidden reasoning is
    not a block. ``reading: official`` follows the released script: every block except
    text counts as a picture, and a row with questions that the script cannot read
    scores 0. The trial is unscored without an answer or a golden answer. Evidence: both
    orders, with one letter per block, and the reason for a 0.

    Example: ``mmeval try metric isg_structural --answer "a hare" --target "an
    owl"`` gives 1.
    """
    if why := unscorable(trial):
        return Score.unscored(why)
    expected = structure_of(trial.sample.references[0], reading)
    evidence = {
        "found": structure_of(trial.output, reading)[:MAX_LETTERS],
        "wanted": expected[:MAX_LETTERS],
    }
    fault = structure_fault(trial, reading)
    if fault:
        evidence["reason"] = fault
    return Score(float(not fault), evidence=evidence)
