import pytest

from mmeval.metrics.audio.windows import Edge, window
from tests.support.sounds import RATE, tone


@pytest.mark.parametrize(("seconds", "length"), [(20, 4), (8, 4), (7.9, 3), (2, 1), (1.99, 0)])
@pytest.mark.parametrize("edge", ["start", "end"])
def test_a_window_is_half_of_the_clip_and_four_seconds_at_most(seconds: float, length: int, edge: Edge) -> None:
    samples = tone(seconds)
    found = window(samples, edge)
    assert len(found) == length * RATE
    assert (found == (samples[: len(found)] if edge == "start" else samples[len(samples) - len(found) :])).all()


def test_official_oddity_the_end_of_a_clip_shorter_than_two_seconds_is_all_of_it() -> None:
    assert len(window(tone(1.5), "end", short_end="whole")) == len(tone(1.5))
    assert len(window(tone(1.5), "start", short_end="whole")) == 0
    assert len(window(tone(2.5), "end", short_end="whole")) == RATE
