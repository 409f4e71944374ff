"""An aggregator of our own."""

from mmeval.aggregate import Estimate, Scores


def worst_repeat(scores: Scores) -> Estimate:
    """Mean over samples of the worst of a sample's repeats; None when nothing is scored."""
    worst: dict[str, float] = {}
    for row in scores:
        if row.value is not None:
            worst[row.sample] = min(row.value, worst.get(row.sample, row.value))
    return Estimate(sum(worst.values()) / len(worst) if worst else None)
