"""A local model hears a sound that is longer than its window, or a single sample."""

from mmeval.media.media import Media
from tests.support.models import asked, loaded, says
from tests.support.tiny_media import wav


def test_a_sound_that_is_too_long_is_cut_and_one_of_a_single_sample_gets_silence_behind_it_with_a_warning() -> (
    None
):
    long = says(loaded("qwen2_audio"), asked("Hear", Media.from_bytes(wav(8000 * 31))))
    assert [("31.0 s" in warning, "30 s" in warning) for warning in long.warnings] == [
        (True, True)
    ]
    click = says(loaded("qwen2_audio"), asked("Hear", Media.from_bytes(wav(1))))
    assert click.error is None
    assert "silence" in click.warnings[0]
