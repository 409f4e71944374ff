import gc

from mmeval.system import collector


def test_the_collector_is_as_before_after_a_block() -> None:
    before = gc.get_threshold()
    with collector.settled():
        inside = (gc.get_threshold(), gc.get_freeze_count() > 0)
    assert inside == (collector.THRESHOLDS, True)
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)
