from mmeval.metrics.audio.windows import window
from tests.support.sounds import RATE, tone


def test_a_window_is_half_of_the_clip_and_four_seconds_at_most() -> None:
    for seconds, length in {20: 4, 8: 4, 7.9: 3, 2: 1, 1.99: 0}.items():
        samples = tone(seconds)
        first, last = window(samples, "start"), window(samples, "end")
        assert len(first) == len(last) == length * RATE
        assert (first == samples[: len(first)]).all()
        assert (last == samples[len(samples) - len(last) :]).all()
    # In the release the end of a clip shorter than two seconds is all of it.
    assert len(window(tone(1.5), "end", short_end="whole")) == len(tone(1.5))
    assert len(window(tone(1.5), "start", short_end="whole")) == 0
    assert len(window(tone(2.5), "end", short_end="whole")) == RATE
