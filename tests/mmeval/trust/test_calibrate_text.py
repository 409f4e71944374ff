import numpy as np

from mmeval.trust.calibrate import CalibrationOptions, calibrate
from mmeval.trust.calibrate_text import calibration_text
from mmeval.trust.records import Draw, Rating, ScoreRow

HOSTILE = "m\x1b[2J" * 20


def test_a_line_is_at_most_eighty_columns_wide_with_any_name() -> None:
    random = np.random.default_rng(0)
    scores, ratings = [], []
    for place in range(80):
        labels = {HOSTILE: HOSTILE}
        value = float(random.random())
        row = ScoreRow(
            f"t{place}",
            HOSTILE,
            -value,
            run=HOSTILE,
            labels=labels,
        )
        scores.append(row)
        if place < 40:
            draw = Draw("random", 0.5)
            ratings.append(
                Rating(f"t{place}", "r", value, run=HOSTILE, draw=draw),
            )
    options = CalibrationOptions(HOSTILE, by=HOSTILE, strata=HOSTILE)
    text = calibration_text(calibrate(scores, ratings, options), 80)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
