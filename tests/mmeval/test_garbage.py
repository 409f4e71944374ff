from __future__ import annotations

import gc

from mmeval import garbage


def test_the_collector_is_as_before_after_a_block() -> None:
    before = gc.get_threshold()

    with garbage.settled():
        inside = (gc.get_threshold(), gc.get_freeze_count() > 0)

    assert inside == (garbage.THRESHOLDS, True)
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)
