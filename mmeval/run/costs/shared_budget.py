"""The budget that several runs of one command share.

The limits apply to the sum over the folders of all runs. Runs may be made side by side,
in threads: while a run checks the limits and reserves a call, no other run does.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class BudgetLimits:
    """The limits of a run, or of several; None for no limit.

    The limits are in US dollars, tokens (input and output) and calls (every attempt).
    """

    usd: float | None = None
    tokens: int | None = None
    calls: int | None = None

    def __bool__(self) -> bool:
        return self.by_usage or self.calls is not None

    @property
    def by_usage(self) -> bool:
        """True if the cost of a call is known only after its answer."""
        return self.usd is not None or self.tokens is not None

    def reached_by(self, amounts: Amounts) -> list[str]:
        """Returns the names of the limits that these amounts reach."""
        reached = []
        for name, amount, limit in (
            ("usd", amounts.usd, self.usd),
            ("tokens", amounts.tokens, self.tokens),
            ("calls", amounts.calls, self.calls),
        ):
            if not _within(amount, limit, is_below=True):
                reached.append(name)
        return reached

    def allow(self, amounts: Amounts) -> bool:
        """Returns True if no limit of dollars or tokens is exceeded."""
        is_within_usd = _within(amounts.usd, self.usd)
        return is_within_usd and _within(amounts.tokens, self.tokens)


class Amounts(NamedTuple):
    """What was spent. Expected amounts of calls in flight may be fractions."""

    usd: float = 0.0
    tokens: float = 0.0
    calls: int = 0

    def plus(self, other: Amounts) -> Amounts:
        return Amounts(
            self.usd + other.usd, self.tokens + other.tokens, self.calls + other.calls
        )


@dataclass
class SharedBudget:
    """The limits of several runs, and the amounts of each run by its folder."""

    limits: BudgetLimits
    lock: threading.RLock = field(default_factory=threading.RLock)
    _spent: dict[Path, Amounts] = field(default_factory=dict)
    _expected: dict[Path, Amounts] = field(default_factory=dict)

    def record(self, folder: Path, spent: Amounts, expected: Amounts) -> None:
        """Replaces the amounts of a run: spent, and expected after its open calls."""
        with self.lock:
            self._spent[folder] = spent
            self._expected[folder] = expected

    def spent_besides(self, folder: Path) -> Amounts:
        """Returns what all runs except one have spent."""
        return self._besides(self._spent, folder)

    def expected_besides(self, folder: Path) -> Amounts:
        """Returns what all runs except one are expected to spend."""
        return self._besides(self._expected, folder)

    def _besides(self, by_folder: Mapping[Path, Amounts], folder: Path) -> Amounts:
        total = Amounts()
        with self.lock:
            for other, amounts in by_folder.items():
                if other != folder:
                    total = total.plus(amounts)
        return total


def _within(
    amount: float,
    limit: float | None,
    *,
    is_below: bool = False,
) -> bool:
    """Returns True if an amount is within a limit.

    With ``is_below``, the amount must be below the limit.
    """
    if limit is None:
        return True
    # ten times 0.01 must equal 0.1 in spite of binary fractions
    amount = round(amount, 9)
    return amount < limit if is_below else amount <= limit
