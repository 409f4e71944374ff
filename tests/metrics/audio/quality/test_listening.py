from mmeval.metrics.audio.quality.listening import heard_in
from mmeval.metrics.audio.quality.recording import RATE
from tests.support.sounds import melody, white


def test_only_music_is_separated_and_only_with_a_margin() -> None:
    found = heard_in(melody(), 1.0)
    assert found.snr_db_hpss is not None and found.snr_db_hpss > found.snr_db_orig
    assert found.snr_db_eff == 50
    assert heard_in(melody(), None).snr_db_hpss is None
    assert heard_in(white(RATE), 3.0).snr_db_hpss is None
