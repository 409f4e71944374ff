import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.words import Case, shown

JUDGES = "bridge --scores scores.jsonl --from gpt-old --to gpt-new"


def files(
    *, how: str = "random", favoured: float = 0.0, few: str = "", digest: str = "d"
) -> Mapping[str, str]:
    """Verdicts of three runs. The new judge gives a point more, and more to the run
    base where it is ``favoured``."""
    random = np.random.default_rng(0)
    lines = []
    for run, quality in (("base", 4.0), ("chat", 4.2), ("tuned\x1b[31m", 6.0)):
        for place in range(100):
            old = round(quality + random.standard_normal(), 1)
            new = round(old + 1 + (run == "base") * favoured + random.random(), 1)
            row = {"trial": f"s{place}", "run": run, "digest": "d"}
            lines.append({**row, "metric": "gpt-old", "value": old})
            if place < (12 if run == few else 40):
                answer = digest if place == 3 else "d"
                drawn = {"digest": answer, "draw": {"how": how}}
                lines.append({**row, "metric": "gpt-new", "value": new, **drawn})
    return {"scores.jsonl": "".join(f"{json.dumps(line)}\n" for line in lines)}


CASES = {
    "a lenient judge": Case(JUDGES, files()),
    "a judge that favours a run": Case(JUDGES, files(favoured=2.0)),
    "a chosen sample": Case(JUDGES, files(how="chosen")),
    "a changed answer": Case(JUDGES, files(digest="other")),
    "few verdicts": Case(JUDGES, files(few="base")),
    "json": Case(f"{JUDGES} --format json", files(few="base")),
    "an unknown judge": Case(JUDGES.replace("gpt-new", "gpt-nwe"), files()),
    "an unknown format": Case(f"{JUDGES} --format yaml", files()),
}


@pytest.mark.parametrize("name", CASES)
def test_bridge(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert shown(CASES[name], tmp_path) == snapshot
