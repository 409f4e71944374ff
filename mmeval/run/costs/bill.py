"""Renders the bill of a run as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from mmeval.store.spending import CallTotals

if TYPE_CHECKING:
    from mmeval.run.costs.prices import Bill


def spent_words(bills: Sequence[Bill]) -> str:
    """Returns one line: ``calls: 1,203, tokens in: 84,210, out: 9,120, 0.30 USD``.

    Models without a price are named if other prices are known. If no price is known,
    the amount is left out.
    """
    total = sum((bill.spent for bill in bills), CallTotals())
    words = [f"calls: {total.calls:,}"]
    if total.tokens:
        words += [
            f"tokens in: {total.input_tokens:,}",
            f"out: {total.output_tokens:,}",
        ]
    if total.images:
        words.append(f"images made: {total.images:,}")
    if total.videos:
        words.append(f"videos made: {total.videos:,}")
    amount = known_dollars(bills)
    unknown = sorted({bill.endpoint.model for bill in bills if bill.usd is None})
    if amount is not None and unknown:
        words.append(f"{dollars(amount)} without {', '.join(unknown)}")
    elif amount is not None:
        words.append(dollars(amount))
    return ", ".join(words)


def known_dollars(bills: Iterable[Bill]) -> float | None:
    """Returns the total of the bills with a price, in US dollars.

    Local models are left out. Returns None if no price is known.
    """
    billed = [bill.usd for bill in bills if not bill.endpoint.local]
    amounts = [usd for usd in billed if usd is not None]
    return sum(amounts) if amounts else None


def spent_json(bills: Sequence[Bill]) -> dict[str, Any]:
    """Returns the bill over all sessions of the folder.

    ``{"usd", "calls", "input_tokens", "output_tokens", "images", "by_role": [...]}``,
    and ``"videos"`` if there are any. ``usd`` is null if a price is unknown. ``prices``
    in an entry of ``by_role`` is the source of the role's price.
    """
    amounts = []
    by_role = []
    for bill in bills:
        row: dict[str, Any] = {
            "role": bill.endpoint.role,
            "model": bill.endpoint.model,
            "usd": None,
        }
        if bill.usd is not None:
            amounts.append(bill.usd)
            row["usd"] = round(bill.usd, 6)
        if bill.source:
            row["prices"] = bill.source
        by_role.append(row | _counts(bill.spent))
    total = sum((bill.spent for bill in bills), CallTotals())
    usd = round(sum(amounts), 6) if len(amounts) == len(bills) else None
    return {"usd": usd, **_counts(total), "by_role": by_role}


def _counts(spent: CallTotals) -> dict[str, int]:
    counts = {
        "calls": spent.calls,
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "images": spent.images,
    }
    if spent.videos:
        counts["videos"] = spent.videos
    return counts


def dollars(amount: float) -> str:
    """Formats an amount with two decimal places, or six below one cent."""
    return f"{amount:.2f} USD" if amount >= 0.01 or not amount else f"{amount:.6f} USD"
