"""ISG-Bench's first level: is the order of texts and pictures that of the golden
answer?"""

from __future__ import annotations

from mmeval.metric import metric
from mmeval.metrics.judged.isg.rows import structure_fault, structure_of, unscorable
from mmeval.metrics.judged.reading import Reading
from mmeval.records import Score, Trial

MOST_LETTERS = 200
"""Blocks of which the evidence has the order."""


@metric(
    range=(0, 1),
    version="1",
    source="ISG (ICLR 2025), structural level; official: its released script de504cdd",
    profiles={"official": {"reading": "official"}},
)
def isg_structural(trial: Trial, *, reading: Reading = "robust") -> Score:
    """1 when the answer's texts and pictures come in the order of the golden answer,
    else 0.

    Range 0 to 1, higher is better. Blocks are compared one by one as they stand,
    without tolerance: a text too many is a 0, and so is an empty answer. Hidden
    reasoning is not a block. ``reading: official`` does as the released script: every
    block but text counts as a picture, and a row whose questions that script cannot
    read is a 0. Evidence: both orders, a letter for each block, and the reason of a 0.
    """
    if why := unscorable(trial):
        return Score.unscored(why)
    wanted = structure_of(trial.sample.references[0], reading)
    evidence = {
        "found": structure_of(trial.output, reading)[:MOST_LETTERS],
        "wanted": wanted[:MOST_LETTERS],
    }
    fault = structure_fault(trial, reading)
    if fault:
        evidence["reason"] = fault
    return Score(float(not fault), evidence=evidence)
