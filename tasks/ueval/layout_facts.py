"""Counts doubts of UEval's judges and pictures, for the table behind the numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mmeval.aggregate import known_mean
from mmeval.metrics.judged.ueval.replies import REMARKS
from mmeval.metrics.judged.ueval.rows import TASKS
from mmeval.metrics.judged.ueval.ueval_rubric import OUTPUTS
from mmeval.results import counted_by

if TYPE_CHECKING:
    from mmeval.results import StoredRun


def judge_facts(run: StoredRun) -> Mapping[str, str]:
    """Returns the share of judged criteria about which the judge is not sure (they
    count as not met), unread replies, and the mean number of pictures of an answer."""
    names = {f"ueval_{name}" for name in TASKS}
    counts: Counter[str] = Counter()
    pictures: list[float] = []
    for task in run.tasks:
        if task.name not in names:
            continue
        is_counted = counted_by(run.ours.get("asked", {}).get(task.name))
        for row in task.score_rows():
            if row["status"] != "ok" or not is_counted(row["i"], row["n"]):
                continue
            for output in OUTPUTS:
                evidence = row["scores"].get(output, {}).get("evidence", {})
                for remark in REMARKS:
                    counts[remark] += evidence.get(remark, 0)
                for criterion in evidence.get("criteria", ()):
                    counts["judged"] += "raw" in criterion
                if "pictures" in evidence:
                    pictures.append(evidence["pictures"])
    facts = {}
    if counts["judged"]:
        facts["Not sure"] = f"{counts['not_sure'] / counts['judged']:.1%}"
    unread = counts["odd_value"] + counts["missing_key"]
    if unread:
        facts["Neither yes nor no"] = f"{unread:,}"
    mean = known_mean(pictures)
    if mean is not None:
        facts["Pictures"] = f"{mean:.1f}"
    return facts
