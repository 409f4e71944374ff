"""Numeric: checks if the answer's number equals a reference's number."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, TypeAlias

from mmeval.metric import metric
from mmeval.metrics.sides import sides_of
from mmeval.metrics.text.extract import Extract, extracted
from mmeval.metrics.text.numbers import last_number
from mmeval.records import Sample, Score, Trial
from mmeval.system import Condition

_Tolerance: TypeAlias = Annotated[
    float, Condition(lambda value: "" if 0 <= value < float("inf") else "0 or more")
]


def _check(sample: Sample, switches: Mapping[str, Any]) -> str:
    if sample.references and not _reference_values(sample, switches["extract"]):
        return "no reference contains a number"
    return ""


@metric(
    range=(0, 1),
    version="1",
    source="our own reading of numbers, in its documentation",
    check=_check,
)
def numeric(
    trial: Trial,
    *,
    extract: Extract = "",
    tolerance: _Tolerance = 0.0,
    relative_tolerance: _Tolerance = 0.0,
) -> Score:
    """1 if the answer's last number equals the last number of any reference, else 0.

    Range 0 to 1, higher is better. ``1,000``, ``1000.0`` and ``1e3`` are equal, as are
    ``3/4`` and ``0.75``. A comma before groups of three digits separates thousands. One
    comma before other digits is a decimal comma, so ``3,5`` equals ``3.5``. Currencies,
    units and percent signs are ignored: ``50%`` is 50. An answer without a number
    scores 0. The answer is unscored if no reference contains a number.

    Not measured: all other numbers and words of the answer.

    Switches:

    - ``extract``: where to find the answer in a text, as for ``exact_match``.
    - ``tolerance``: the largest difference between equal numbers.
    - ``relative_tolerance``: the same as a share of the reference.

    Evidence: the numbers of the answer and the references, as floating point numbers.

    Example: ``mmeval try metric numeric --answer "It costs 1,000 euros." --target
    1000.0`` gives 1.
    """
    sides = sides_of(trial)
    if isinstance(sides, Score):
        return sides
    values = _reference_values(trial.sample, extract)
    if not values:
        return Score.unscored("no reference contains a number")
    references = list(map(_shown, values))
    number = last_number(extracted(sides.answer.text, extract) or "")
    if number is None:
        return Score(0.0, evidence={"answer": None, "references": references})
    is_equal = False
    for value in values:
        allowed = max(Fraction(tolerance), Fraction(relative_tolerance) * abs(value))
        is_equal = is_equal or abs(number.value - value) <= allowed
    evidence = {"answer": _shown(number.value), "references": references}
    return Score(float(is_equal), evidence=evidence)


def _reference_values(sample: Sample, extract: Extract) -> list[Fraction]:
    values: list[Fraction] = []
    for reference in sample.references:
        text = extracted(reference.text, extract)
        number = last_number(reference.text if text is None else text)
        if number is not None:
            values.append(number.value)
    return values


def _shown(number: Fraction) -> float | str:
    try:
        return float(number)
    except OverflowError:
        return "beyond floating point numbers"
