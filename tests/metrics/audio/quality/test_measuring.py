from mmeval.metrics.audio.quality.measuring import sound_terms_of
from mmeval.metrics.audio.quality.recording import RATE
from tests.support.sounds import melody, white


def test_only_music_is_separated_and_only_with_a_margin() -> None:
    found = sound_terms_of(melody(), 1.0)
    assert found.snr_db_hpss is not None and found.snr_db_hpss > found.snr_db_orig
    assert found.snr_db_eff == 50
    assert sound_terms_of(melody(), None).snr_db_hpss is None
    assert sound_terms_of(white(RATE), 3.0).snr_db_hpss is None
