"""A score set: the score rows of one task under one definition of its metrics.

The name of its folder depends on the definition (metric versions and switches, the
judge, the rule for missing output). Therefore a new judge or a changed metric results
in a new set. ``plan.json`` is the definition. Rows are appended to ``rows.jsonl`` as
they arrive, and sorted into ``scores.jsonl`` at the end. Scores of derived metrics are
added when rows are merged (see :mod:`mmeval.metric.derived`). ``verdicts.jsonl``
records the judge of each verdict (see :mod:`mmeval.metric.scoring.verdict_log`).
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import Any

from mmeval.errors import StorageError
from mmeval.metric.derived import PIECES
from mmeval.metric.scoring.verdict_log import FILE as VERDICTS
from mmeval.metric.scoring.verdict_log import verdict_log
from mmeval.metric.scoring.votes import with_votes
from mmeval.records.digests import digest
from mmeval.records.score import ScoreStatus
from mmeval.store.paths import TrialFilter, trial_key
from mmeval.system.folders import write_atomic
from mmeval.system.json_lines import (
    LineFile,
    drop_damaged,
    from_line,
    line_at,
    read_rows,
    sealed,
    sealed_document,
    to_line,
    unsealed,
    unsealed_document,
)
from mmeval.system.wording import file_name

log = logging.getLogger(__name__)

ROWS = "rows.jsonl"
"""The rows of an unfinished set, in the order in which they arrived."""
FINISHED = "scores.jsonl"
"""The rows of a finished set in data order (see :meth:`ScoreSet.finish`)."""
PLAN = "plan.json"
"""The definition of a set."""


_SETTLED: tuple[ScoreStatus, ...] = ("scored", "inapplicable")
"""Statuses that are kept if the same answer is scored again and is then unscored."""


class ScoreSet:
    """Score rows: ``{"i", "n", "s", "d", "status", "scores", "labels", "cluster"}``.

    ``scores`` maps outputs to scores. ``i`` is the sample's index in the data set, and
    ``s`` is its id. ``n`` is the repeat, and ``d`` is the trial's digest. If a trial
    has several rows, later rows complete or replace earlier rows.
    """

    def __init__(
        self,
        run: Path,
        task: str,
        plan: Mapping[str, Any],
    ) -> None:
        self.name = digest(plan)[:12]
        self.folder = run / "scores" / file_name(task) / self.name
        self._sorted = self.folder / FINISHED
        advice = (
            "The answers are stored. Free some space, then run the same command to "
            "score the rest"
        )
        self._rows = LineFile(self.folder / ROWS, advice)
        self._plan, self._has_plan = plan, False
        for file in (FINISHED, ROWS, VERDICTS):
            drop_damaged(self.folder / file)
        self.verdicts = verdict_log(self.folder)
        self.complete = self._complete()

    def covers(
        self,
        index: int,
        repeat: int,
        trial_digest: str,
    ) -> bool:
        """Returns True if an earlier process has scored a trial completely."""
        if not self.complete:
            return False
        return self.complete.get(trial_key(index, repeat)) == trial_digest

    def scored(self) -> int:
        """Returns the number of trials that are scored completely."""
        return len(self._complete())

    def trials(self) -> set[int]:
        """Returns the keys of the trials that have a row."""
        keys: set[int] = set()
        for path in (self._sorted, self._rows.path):
            for _, row in read_rows(path):
                keys.add(trial_key(row["i"], row["n"]))
        return keys

    def add(self, lines: bytes) -> None:
        """Appends rows to the file. Raises StorageError."""
        self._keep_plan()
        self._rows.add(lines)

    def _keep_plan(self) -> None:
        if not self._has_plan:
            write_atomic(self.folder / PLAN, sealed_document(self._plan))
            self._has_plan = True

    def finish(self) -> None:
        """Sorts and merges the rows into ``scores.jsonl``, one line per trial."""
        self.close()
        if not self._rows.path.is_file():
            return
        self._keep_plan()
        temporary = self._sorted.with_name(".scores.jsonl")
        try:
            with temporary.open("wb") as out:
                out.writelines(lines_so_far(self.folder))
            temporary.replace(self._sorted)
        except OSError as error:
            raise StorageError(
                f"{self._sorted}: cannot be written ({error.strerror})"
            ) from None
        self._rows.path.unlink()

    def close(self) -> None:
        self._rows.close()
        self.verdicts.close()

    def _complete(self) -> dict[int, str]:
        """Returns the digests of completely scored trials, by the keys of the trials.

        Outputs of derived metrics need not be scored for this.
        """
        outputs = set(self._plan["outputs"])
        scored: dict[int, tuple[str, set[str]]] = {}
        for path in (self._sorted, self._rows.path):
            for _, row in read_rows(path):
                key = trial_key(row["i"], row["n"])
                names: set[str] = set()
                before, earlier = scored.get(key, ("", names))
                if before == row["d"]:
                    names.update(earlier)
                for name, score in row["scores"].items():
                    if score["status"] != "unscored":
                        names.add(name)
                scored[key] = (row["d"], names)
        complete = {}
        for key, (trial_digest, names) in scored.items():
            if names >= outputs:
                complete[key] = trial_digest
        return complete


def lines_so_far(folder: Path) -> Iterator[bytes]:
    """Yields the rows of a set in data order, one per trial.

    The set may be unfinished.

    Memory use is a few bytes per row.
    """
    paths = (folder / FINISHED, folder / ROWS)
    files = [path for path in paths if path.is_file()]
    # Arrays need a few bytes per row. Objects would need hundreds.
    keys, places = (array("q"), array("q"))
    for number, path in enumerate(files):
        for offset, row in read_rows(path):
            keys.append(trial_key(row["i"], row["n"]))
            places.append(offset << 1 | number)
    # The sort is stable, so the rows of a trial remain in their order.
    order = sorted(range(len(keys)), key=keys.__getitem__)
    derive = _deriving(folder)
    with ExitStack() as opened:
        readers = [opened.enter_context(path.open("rb")) for path in files]
        for _, numbers in groupby(order, key=keys.__getitem__):
            of_trial = [places[number] for number in numbers]
            lines = [line_at(readers[place & 1], place >> 1) for place in of_trial]
            yield derive(_merged(lines))


def _deriving(folder: Path) -> Callable[[bytes], bytes]:
    """Returns a function that adds derived scores to a row.

    Without derived metrics the function returns the row unchanged.
    """
    try:
        plan = unsealed_document(from_line((folder / PLAN).read_bytes()))
    except (OSError, ValueError) as error:
        log.warning(
            "%s is damaged (%s), so derived scores are missing; score the run again",
            folder / PLAN,
            error,
        )
        return _as_it_is
    is_derived = any(PIECES in entry for entry in plan["metrics"])
    if not is_derived:
        return _as_it_is
    # Imported late: it loads plugins that most readers do not need.
    from mmeval.metric.derived import derivations, with_derived

    derived = derivations(plan)
    return lambda line: sealed(to_line(with_derived(unsealed(line), derived)))


def _as_it_is(line: bytes) -> bytes:
    return line


def finished_rows(folder: Path, is_selected: TrialFilter) -> Iterator[dict[str, Any]]:
    """Yields the finished rows of the selected trials, in data order."""
    rows = (row for _, row in read_rows(folder / FINISHED))
    yield from with_votes(row for row in rows if is_selected(row["i"], row["n"]))


def _merged(lines: list[bytes]) -> bytes:
    """Merges the rows of one trial, without the scores of older answers.

    A scored or inapplicable output is kept if it is unscored in a later attempt.
    """
    if len(lines) == 1:
        return lines[0]
    rows = [unsealed(line) for line in lines]
    last = rows[-1]
    scores: dict[str, Any] = {}
    for row in rows:
        if row["d"] != last["d"]:
            continue
        for name, score in row["scores"].items():
            is_settled = name in scores and scores[name]["status"] in _SETTLED
            if score["status"] in _SETTLED or not is_settled:
                scores[name] = score
    in_order = dict(sorted(scores.items()))
    return sealed(to_line({**last, "scores": in_order}))
