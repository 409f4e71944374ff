"""Any metric of the ``evaluate`` library, by name or from a local folder."""

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
"""The aggregator that computes one number of all answers."""
# Metrics of the library without a number. Each is called for every slice and draw, but
# the warning is logged once.
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
    """A number from a metric of the ``evaluate`` library, per answer or for all.

    Range and direction are those of the library's metric; state the direction with
    ``higher_is_better`` in the task's ``metric_list``. The answer's text is the
    prediction, the first reference's text the reference. Unscored without references.
    Unavailable if the metric cannot be loaded (no network and not in the cache).

    Switches:

    - ``name``: a metric of the library (``rouge``), of an account on the hub
      (``owner/name``), or a folder (``./name``, relative to the task file). Code of the
      last two runs only with the flag ``--trust_remote_code``.
    - ``trust_remote_code``: set by that flag. A file cannot set it.
    - ``field``: the number to use, if the metric gives several.
    - ``kwargs``: arguments of its ``compute``.
    - ``all_references``: pass the list of all references.
    - ``aggregation``: set by the task's ``aggregation``. With ``hf_evaluate`` all
      answers are computed in one call, as BLEU requires, and a single answer has no
      value.

    Evidence: the whole result, or the ``prediction`` and its ``reference``.
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
    """Returns the number of all scored answers in one call, with the metric
    ``hf_evaluate``.

    A metric of a corpus, such as BLEU, needs it. It is about fifty times faster than
    one call per answer. No number without a scored answer, or if the library fails,
    with one warning. The standard error is bootstrapped, with one more call per draw
    (``--bootstrap_iters``). Raises UsageError for another metric.
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
        # A metric of the library may raise anything. Some have no number for certain
        # answers, such as those of a single class.
        except (Exception, SystemExit) as error:
            score = Score.unscored(f"{type(error).__name__}: {error}")
    if score.value is None and switches["name"] not in _REPORTED:
        _REPORTED.add(switches["name"])
        log.warning(
            "hf_evaluate: %s gives no number for %d answers together: %s",
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
    """Returns the name to load. Raises UsageError without one, or for untrusted
    code."""
    if not name:
        raise UsageError('name the metric, such as {"name": "rouge"}')
    if not trust_remote_code and not _is_of_the_library(name):
        raise UsageError(
            f"{name!r} runs code of its owner; read it, then give --trust_remote_code",
            name=name,
        )
    if name.startswith(("/", ".")):
        return str(Path(name).resolve())
    return name


_OF_THE_LIBRARY = re.compile(r"(?:evaluate-(?:metric|measurement|comparison)/)?\w+")


def _is_of_the_library(name: str) -> bool:
    """Returns whether a name means the library's own metric, not a script of this name.

    The library searches the working folder first, where a script is foreign code.
    """
    if not _OF_THE_LIBRARY.fullmatch(name):
        return False
    script = f"{name.rpartition('/')[2]}.py"
    return not Path(name, script).is_file()


@cache
def _load(name: str) -> Any:
    """Returns the library's (untyped) metric, or an unavailable score with the reason.

    Loading takes seconds, and a failure may take a network timeout: each name is tried
    once per process.
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
        how_to_fix = "connect once so that it is cached, or give a folder as name"
        return Score.unavailable(
            f"the metric {name!r} cannot be loaded ({_first_line(error)}); {how_to_fix}"
        )


def _first_line(error: Exception) -> str:
    message = str(error).strip() or type(error).__name__
    return message.splitlines()[0]


def _picked(result: Mapping[str, Any], field: str) -> Score:
    numbers: dict[str, float] = {}
    for key, value in result.items():
        # Numbers of numpy and arrays of one element convert too. So would texts, but
        # they are labels.
        if not isinstance(value, (str, bytes, bool)):
            with contextlib.suppress(TypeError, ValueError):
                numbers[key] = float(value)
    name = field
    if not field and len(numbers) == 1:
        (name,) = numbers
    if name in numbers:
        return Score(numbers[name], evidence={"result": numbers})
    if not numbers:
        return Score.unscored("the metric gave no number", result=numbers)
    names = ", ".join(numbers)
    return Score.unscored(f"set field to one of: {names}", result=numbers)
