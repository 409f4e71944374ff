import numpy as np

from mmeval.trust.bridge import bridge
from mmeval.trust.bridge_text import bridge_text
from mmeval.trust.records import Draw, ScoreRow


def test_a_line_is_at_most_eighty_columns_wide() -> None:
    random = np.random.default_rng(0)
    rows = []
    for run in ("a" * 40, "b" * 40):
        for place in range(60):
            value = -9 + random.random()
            for judge in ("old" * 20, "new" * 20):
                row = ScoreRow(f"s{place}", judge, value + 5, run=run)
                rows.append(row)
                value += random.random()
    result = bridge(
        rows,
        "old" * 20,
        "new" * 20,
        assume_random=True,
    )
    text = bridge_text(result, "old" * 20, "new" * 20, 80)
    assert max(map(len, text.splitlines())) <= 80


def test_nothing_that_moves_the_cursor_is_printed() -> None:
    row = ScoreRow(
        "s\x1b[2J",
        "old",
        1.0,
        run="r\x1b[2J",
        digest="a",
    )
    new = ScoreRow(
        "s\x1b[2J",
        "new",
        1.0,
        run="r\x1b[2J",
        digest="b",
        draw=Draw("all"),
    )
    text = bridge_text(
        bridge([row, new], "old", "new"),
        "old",
        "new",
        80,
    )
    assert "\x1b" not in text


def test_answers_are_counted_and_not_samples() -> None:
    rows = []
    for place in range(30):
        for repeat in range(2):
            trial, sample = f"s{place}/{repeat}", f"s{place}"
            rows.append(
                ScoreRow(trial, "old", float(place % 2), sample),
            )
            if place < 20:
                rows.append(
                    ScoreRow(trial, "new", float(place % 3), sample),
                )
    result = bridge(rows, "old", "new", assume_random=True)
    assert "40/60" in bridge_text(result, "old", "new", 80)
