"""How fast the pitch of a voice is found, beside librosa's pyin on the same clips, in
one thread.

pyin has the same step and the same lowest and highest pitch; what it compiles on its
first call is left out. It is measured where librosa is installed. The first call of
ours, in a fresh process, has its imports in it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from typing import Any

from benchmarks.measuring import Figure, Fresh, busy, paired
from mmeval.metrics.audio.speech.pitch import CEILING, FLOOR, STEP, pitch_of
from tests.support.sounds import RATE, heard, voice

GOAL, FIRST_GOAL = 0.3, 2.0
PAIRS = 7


def figures(quick: bool) -> Iterator[Figure]:
    if importlib.util.find_spec("librosa") is None:
        print(
            "librosa is not installed, so the ratio to pyin is not measured",
            file=sys.stderr,
        )
    else:
        # no dependency of ours, and without types here
        librosa: Any = importlib.import_module("librosa")
        options = {"fmin": FLOOR, "fmax": CEILING, "sr": RATE, "hop_length": STEP}
        for length in (2.0, 10.0):
            clip = voice(130, length)
            found = paired(
                lambda: pitch_of(clip),  # noqa: B023
                lambda: librosa.pyin(clip, **options),  # noqa: B023
                3 if quick else PAIRS,
            )
            yield Figure(
                f"time against pyin, {length:g} s",
                found.ratio,
                GOAL,
                " times",
                note=str(found),
            )
    yield Figure(
        "first call",
        Fresh("benchmarks.metrics.pitch:first").result(),
        FIRST_GOAL,
        " s of CPU",
    )


def first() -> float:
    trial = heard(voice(110), metadata={"pitch": "low"})

    def score() -> None:
        from mmeval.metric.apply import score_one
        from mmeval.metric.bound import bind
        from mmeval.metrics.audio.speech.pitch_band import pitch_band

        assert score_one(bind(pitch_band, {"gender": "male"}), trial)[
            "pitch_band"
        ].value

    return busy(score)
