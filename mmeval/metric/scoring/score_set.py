"""A score set: the score rows of one task under one definition of its metrics.

The folder is named by that definition (metric versions and switches, the judge, the
rule for missing output), so a new judge or a changed metric makes a set beside the old
one. ``plan.json`` says what the definition is. Rows are appended to ``rows.jsonl`` as
they come and put in the order of the data set in ``scores.jsonl`` at the end; there,
and wherever they are put together before, the scores of derived metrics join them (see
:mod:`mmeval.metric.derived`). Who gave the verdicts of judged metrics stands in
``verdicts.jsonl`` (see :mod:`mmeval.metric.scoring.verdict_log`)."""

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
"""The rows of a set as they came, until its end."""
FINISHED = "scores.jsonl"
"""The rows of a set in their order; see :meth:`ScoreSet.finish`."""
PLAN = "plan.json"
"""The definition of a set."""


_SETTLED: tuple[ScoreStatus, ...] = ("scored", "inapplicable")
"""What no other attempt on the same answer takes back."""


class ScoreSet:
    """Score rows: ``{"i", "n", "s", "d", "status", "scores", "labels", "cluster"}``.

    ``scores`` maps outputs to scores. ``i`` is the sample's place in the data set,
    ``n`` the repeat, ``d`` the trial's digest. Where a trial has several rows, later
    ones complete or replace earlier ones.
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
            "The answers are kept: free space, then run the same command to score the "
            "rest"
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
        """Whether a trial was scored in full, by an earlier process."""
        if not self.complete:
            return False
        return self.complete.get(trial_key(index, repeat)) == trial_digest

    def scored(self) -> int:
        """How many trials are scored in full by now."""
        return len(self._complete())

    def trials(self) -> set[int]:
        """The keys of the trials that have a row."""
        keys: set[int] = set()
        for path in (self._sorted, self._rows.path):
            for _, row in read_rows(path):
                keys.add(trial_key(row["i"], row["n"]))
        return keys

    def add(self, lines: bytes) -> None:
        """Keep rows, at once. Raises StorageError."""
        self._keep_plan()
        self._rows.add(lines)

    def _keep_plan(self) -> None:
        if not self._has_plan:
            write_atomic(self.folder / PLAN, sealed_document(self._plan))
            self._has_plan = True

    def finish(self) -> None:
        """Sort the rows into ``scores.jsonl``, one line a trial."""
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
        """Fully scored trials, derived outputs aside: trial key to trial digest."""
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
    """The rows of a set's folder in data order, one a trial, also of unfinished sets.
    Holds a few bytes a row."""
    paths = (folder / FINISHED, folder / ROWS)
    files = [path for path in paths if path.is_file()]
    # a few bytes a row, where objects would be hundreds
    keys, places = (array("q"), array("q"))
    for number, path in enumerate(files):
        for offset, row in read_rows(path):
            keys.append(trial_key(row["i"], row["n"]))
            places.append(offset << 1 | number)
    # stable: the rows of a trial stay in their order
    order = sorted(range(len(keys)), key=keys.__getitem__)
    derive = _deriving(folder)
    with ExitStack() as opened:
        readers = [opened.enter_context(path.open("rb")) for path in files]
        for _, found in groupby(order, key=keys.__getitem__):
            of_trial = [places[number] for number in found]
            lines = [line_at(readers[place & 1], place >> 1) for place in of_trial]
            yield derive(_merged(lines))


def _deriving(folder: Path) -> Callable[[bytes], bytes]:
    """What puts derived scores into a set's rows, which else stay as they are."""
    try:
        plan = unsealed_document(from_line((folder / PLAN).read_bytes()))
    except (OSError, ValueError) as error:
        log.warning(
            "%s is damaged (%s): derived scores are left out until the run is scored",
            folder / PLAN,
            error,
        )
        return _as_it_is
    is_derived = any(PIECES in entry for entry in plan["metrics"])
    if not is_derived:
        return _as_it_is
    # with the plugins, which most readers need not load
    from mmeval.metric.derived import derivations, with_derived

    derived = derivations(plan)
    return lambda line: sealed(to_line(with_derived(unsealed(line), derived)))


def _as_it_is(line: bytes) -> bytes:
    return line


def finished_rows(folder: Path, trial_filter: TrialFilter) -> Iterator[dict[str, Any]]:
    """A set's finished rows of the trials that the filter keeps, in data order."""
    rows = (row for _, row in read_rows(folder / FINISHED))
    yield from with_votes(row for row in rows if trial_filter(row["i"], row["n"]))


def _merged(lines: list[bytes]) -> bytes:
    """The rows of one trial as one, without the scores of older answers. What was
    scored, or inapplicable, stays so when a later attempt leaves it unscored."""
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
