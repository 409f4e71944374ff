"""Computes any metric of the ``evaluate`` library, by name or from a local folder."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Mapping, Sequence
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

from mmeval.aggregate import Estimate, Scores
from mmeval.errors import UsageError
from mmeval.metric import metric
from mmeval.metrics.sides import sides_of
from mmeval.records import Score, Trial
from mmeval.system import PathOrName, need

TOGETHER = "hf_evaluate"
"""The aggregator that computes one number from all answers."""
# Metrics of the library that returned no number. Each metric is called for every slice
# and draw, but the warning is logged once.
_REPORTED: set[str] = set()

log = logging.getLogger(__name__)


@metric(
    range=(-inf, inf),
    version="2",
    source="the evaluate library",
    needs=("evaluate:datasets",),
)
def hf_evaluate(
    trial: Trial,
    *,
    name: PathOrName = "",
    field: str = "",
    kwargs: Mapping[str, Any] | None = None,
    all_references: bool = False,
    trust_remote_code: bool = False,
    aggregation: str = "mean",
) -> Score:
    """A number from a metric of the ``evaluate`` library, per answer or overall.

    Range and direction depend on the library's metric. State the direction with
    ``higher_is_better`` in the task's ``metric_list``. The answer's text is the
    prediction, and the first reference's text is the reference. The answer is unscored
    without references. The metric is unavailable if it cannot be loaded (no network and
    not in the cache).

    Switches:

    - ``name``: a metric of the library (``rouge``), of an account on the hub
      (``owner/name``), or a folder (``./name``, relative to the task file). Code from
      an account or a folder only runs with the flag ``--trust_remote_code``.
    - ``trust_remote_code``: set by the flag of the same name. A task file cannot set
      this switch.
    - ``field``: the number to use, if the metric returns several.
    - ``kwargs``: arguments for the ``compute`` function of the library's metric.
    - ``all_references``: pass the list of all references.
    - ``aggregation``: set by the task's ``aggregation``. With ``hf_evaluate`` all
      answers are scored in one call, as BLEU requires, and a single answer gets no
      value.

    Evidence: the whole result, or the ``prediction`` and its ``reference``.

    In a task: ``metric_list: [{metric: hf_evaluate, name: rouge, field: rougeL,
    higher_is_better: true}]``
    """
    sides = sides_of(trial)
    if isinstance(sides, Score):
        return sides
    module = _load(_checked(name, trust_remote_code=trust_remote_code))
    if isinstance(module, Score):
        return module
    texts = [reference.text for reference in sides.references]
    pair = {
        "prediction": sides.answer.text,
        "reference": texts if all_references else texts[0],
    }
    if aggregation == TOGETHER:
        return Score(evidence=pair)
    return _picked(_computed(module, [pair], kwargs), field)


def together(scores: Scores) -> Estimate:
    """Computes one number from all scored answers in one call of the library.

    A metric of a corpus, such as BLEU, requires a single call. This is about fifty
    times faster than one call per answer. The value is None if no answer is scored. If
    the library fails, the value is also None, and one warning is logged. The standard
    error is bootstrapped, with one more call per draw (``--bootstrap_iters``). Raises
    UsageError for a metric that is not ``hf_evaluate``.
    """
    pairs = [row.evidence for row in scores if row.status == "scored"]
    if not pairs:
        return Estimate(None)
    if not all(pairs):
        raise UsageError(
            f"aggregation: {TOGETHER} works only with the metric {TOGETHER}"
        )
    switches = scores.switches
    module = _load(
        _checked(switches["name"], trust_remote_code=switches["trust_remote_code"])
    )
    if isinstance(module, Score):
        score = module
    else:
        try:
            computed = _computed(module, pairs, switches["kwargs"])
            score = _picked(computed, switches["field"])
        # A metric of the library may raise anything. Some return no number for certain
        # answers, such as those of a single class.
        except (Exception, SystemExit) as error:
            score = Score.unscored(f"{type(error).__name__}: {error}")
    if score.value is None and switches["name"] not in _REPORTED:
        _REPORTED.add(switches["name"])
        log.warning(
            "hf_evaluate: %s returned no number for %d answers together: %s",
            switches["name"],
            len(pairs),
            score.reason,
        )
    return Estimate(score.value)


def _computed(
    module: Any, pairs: Sequence[Mapping[str, Any]], kwargs: Mapping[str, Any] | None
) -> Mapping[str, Any]:
    result: Mapping[str, Any] = module.compute(
        predictions=[pair["prediction"] for pair in pairs],
        references=[pair["reference"] for pair in pairs],
        **(kwargs or {}),
    )
    return result


def _checked(name: str, *, trust_remote_code: bool) -> str:
    """Checks the name to load.

    Raises UsageError if the name is missing or the code is not trusted.
    """
    if not name:
        raise UsageError('name the metric, such as {"name": "rouge"}')
    if not trust_remote_code and not _is_of_the_library(name):
        raise UsageError(
            f"{name!r} runs its owner's code; read it, then set --trust_remote_code",
            name=name,
        )
    if name.startswith(("/", ".")):
        return str(Path(name).resolve())
    return name


_OF_THE_LIBRARY = re.compile(r"(?:evaluate-(?:metric|measurement|comparison)/)?\w+")


def _is_of_the_library(name: str) -> bool:
    """Returns True if a name means the library's own metric, not a script.

    The library searches the working folder first. A script with this name in that
    folder is therefore foreign code.
    """
    if not _OF_THE_LIBRARY.fullmatch(name):
        return False
    script = f"{name.rpartition('/')[2]}.py"
    return not Path(name, script).is_file()


@cache
def _load(name: str) -> Any:
    """Loads the library's (untyped) metric, or returns an unavailable score.

    Loading takes seconds, and a failure may take as long as a network timeout. Each
    name is therefore tried only once per process.
    """
    library = need("evaluate", "datasets")
    try:
        return library.load(name, keep_in_memory=True)
    except ImportError as error:
        return Score.unavailable(
            f"the metric {name!r} needs a package that is not installed: "
            f"{_first_line(error)}"
        )
    except OSError as error:
        how_to_fix = "connect once so that it is cached, or set name to a folder"
        return Score.unavailable(
            f"the metric {name!r} cannot be loaded ({_first_line(error)}); {how_to_fix}"
        )


def _first_line(error: Exception) -> str:
    message = str(error).strip() or type(error).__name__
    return message.splitlines()[0]


def _picked(result: Mapping[str, Any], field: str) -> Score:
    numbers: dict[str, float] = {}
    for key, value in result.items():
        # NumPy numbers and arrays of one element can be converted too. Some strings
        # could be converted, but they are labels.
        if not isinstance(value, (str, bytes, bool)):
            with contextlib.suppress(TypeError, ValueError):
                numbers[key] = float(value)
    name = field
    if not field and len(numbers) == 1:
        (name,) = numbers
    if name in numbers:
        return Score(numbers[name], evidence={"result": numbers})
    if not numbers:
        return Score.unscored("the metric returned no number", result=numbers)
    names = ", ".join(numbers)
    return Score.unscored(f"set field to one of: {names}", result=numbers)
