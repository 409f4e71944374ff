"""Each switch, constant and key of UniM's tasks has its documented value.

A metric or a switch that is not listed here fails, and so does a default that was
changed without this page.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.backend import excerpt, routes
from mmeval.metric import load_metric
from mmeval.metrics.judged import unim_grades
from mmeval.metrics.judged.captions import captioning
from mmeval.metrics.quality import sqcs
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose

DOCUMENTED = Path(__file__).with_suffix(".json")
"""Defaults and profiles of each metric, constants, and what the task files say, as the
documentation, the paper and the scripts have it."""
KEYS = (
    "missing_output",
    "partial_output",
    "output_modalities",
    "placeholders",
    "profile",
    "repeats",
    "breakdown",
)
"""Keys of the task files that decide about numbers."""


def constants() -> dict[str, Any]:
    """What is no switch: the grades, how much of a medium is captioned, and the copies
    of the paper's weights."""
    return {
        "grades": [unim_grades.LOWEST, unim_grades.HIGHEST],
        "shares of grades": [unim_grades.share(grade) for grade in (1, 2, 3, 4, 5)],
        "characters of a caption": captioning.MAX_CAPTION_CHARS,
        "seconds of a captioned sound": excerpt.MAX_AUDIO_SECONDS,
        "samples a second of a captioned sound": excerpt.AUDIO_RATE,
        "pixels of a side of a captioned picture": excerpt.MAX_SIDE,
        "characters of a captioned document": excerpt.MAX_DOCUMENT_CHARS,
        "bytes of a video that is captioned whole": routes.MAX_VIDEO_BYTES,
        "frames of a video": routes.FRAMES,
        "eta of the layout": sqcs.ETA,
    }


def values() -> dict[str, Any]:
    """What the code has. Fails where the task files of the levels and domains
    differ."""
    files = choose(
        ["unim_easy", "unim_medium", "unim_hard", "unim_domains"], TaskIndex()
    ).tasks.values()
    rows = [
        {key: getattr(file.keys, key) for key in KEYS}
        | {
            "metrics": {
                entry.metric: [entry.switches, entry.aggregation.name]
                for entry in file.keys.metric_list
            }
        }
        for file in files
    ]
    assert all(row == rows[0] for row in rows)
    metrics = {name: load_metric(name) for name in rows[0]["metrics"]}
    found = {
        "switches": {name: dict(metric.switches) for name, metric in metrics.items()},
        "profiles": {
            name: {p: dict(s) for p, s in metric.profiles.items()}
            for name, metric in metrics.items()
        },
        "constants": constants(),
        "tasks": rows[0],
    }
    plain: dict[str, Any] = json.loads(json.dumps(found))
    return plain


@pytest.mark.parametrize("part", ["switches", "profiles", "constants", "tasks"])
def test_everything_has_its_documented_value(part: str) -> None:
    """``python -m tests.tasks.unim.test_switches`` writes the values of today."""
    assert json.loads(DOCUMENTED.read_text("utf-8"))[part] == values()[part]


if __name__ == "__main__":
    DOCUMENTED.write_text(json.dumps(values(), indent=1) + "\n", "utf-8")
