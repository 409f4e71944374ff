"""Every number of the quality of sound, written a second time: one that is changed has
to be changed on purpose.

The order is that of UniM's pipeline. What the numbers do is tested beside their
modules.
"""

from mmeval.metrics.audio.quality import combination as combined
from mmeval.metrics.audio.quality import (
    frames,
    gaps,
    level,
    loudness,
    periodicity,
    recording,
    signal_to_noise,
)
from mmeval.metrics.audio.quality.frequencies import (
    chroma,
    contrast,
    separation,
    spectrum,
    tuning,
)
from tests.support.constants import defined, documented

DOCUMENTED = """
recording: RATE=48000 LONGEST=900.0 AUDIBLE=1e-4 KEPT=0.2
frames: TINY=1e-12 SHORT=0.02 SHORT_HOP=0.01
spectrum: FRAME=2048 HOP=512 BINS=1025 ENERGY_SHARE=0.95 FULL_BAND=0.9 _TINY_HERTZ=1e-9
spectrum: HISS_LOW=4000.0 HISS_HIGH=12000.0 HIGH_LOW=7000.0 HIGH_HIGH=16000.0
contrast: LOWEST=200.0 OCTAVES=6 QUANTILE=0.02 FAINTEST=1e-10 SPAN_DB=80.0
tuning: STEPS=36 LOWEST=150.0 HIGHEST=4000.0 FAINTEST=0.1 CONCERT_A=440.0 RESOLUTION=100
chroma: LOWEST=32.70319566257483 OCTAVES=7 CLASSES=12 HOP=256 FRAME=1024 DROPPED=0.01
separation: HALF=15 NO_MARGIN=1.0
signal_to_noise: LOWEST_DB=-10.0 HIGHEST_DB=50.0 NOISE_BELOW_DB=-45.0 NOISE_FLATNESS=0.6 ENOUGH_NOISE=10
signal_to_noise: NOISE_PERCENTILE=20 ANY_PERCENTILE=10 VALID_DB=-50.0 ENOUGH_VALID=20 NOISY_FLATNESS=0.55
signal_to_noise: SIGNAL_BELOW=0.45 NOISE_ABOVE=0.65 FEWEST=10 FEWEST_SHARE=0.05
signal_to_noise: STEEPNESS=0.33 MIDDLE_DB=28.0 MIDDLE_MUSIC_DB=22.0
periodicity: LONG=0.03 LONG_HOP=0.01 SHORTEST_LAG=120 LONGEST_LAG=960
loudness: BLOCK=0.4 STEP=0.1 ABSOLUTE_GATE=-70.0 RELATIVE_GATE=-10.0 OFFSET=-0.691 SHORTEST=0.4
level: RANGE=0.05 RANGE_HOP=0.025 LOUD_PERCENTILE=95 QUIET_PERCENTILE=5 FULL_SCALE=0.995 RUN=4 SILENT_DB=-60.0
level: MOST_CLIPPED=0.02 MOST_OFFSET=1e-3 MOST_SILENT=0.4 ENVELOPE=480 JUMP_PERCENTILE=95 MOST_JUMPS=0.2
level: STEP_TOLERANCE=1e-9
gaps: LOUDEST=0.3 BELOW_DB=20.0 LOWEST_DB=-55.0 HIGHEST_DB=-30.0 SILENT_SHARE=0.97 SHORT_GAP=0.1 GAP_SPAN=0.8
gaps: MOST_COST=0.98 ENOUGH_ACTIVE=0.85 COST_OF_ABSENCE=2.0 LEAST=0.1 MUCH_SILENCE=0.35 STEEPNESS=4.0
combination: LEAST_SCORE=1e-9 LEAST_FEATURE=0.01 NARROW=0.8 WIDE=0.2 CONTRAST_FROM=15.0 CONTRAST_SPAN=25.0
combination: CHROMA_FROM=0.005 CHROMA_SPAN=0.045 PERIODIC_FROM=0.25 PERIODIC_SPAN=0.55
combination: MUSIC_CONTRAST=0.22 MUSIC_CHROMA=0.6 RANGE_MIDDLE=8.0 RANGE_SOFTNESS=2.0
combination: LOUDNESS=(-22.0,-14.0,2.0) CREST=(10.0,18.0,1.0) CLIP_COST=400.0 NOISE_COST=10.0
combination: HISS_FROM=-0.5 HISS_COST=6.0 HISS_SPAN=0.65 HISS_LEAST=0.25
combination: HIGH_UNSTRUCTURED=0.4 HIGH_FROM=0.22 HIGH_COST=8.0
combination: CONTRAST_BELOW_DB=18.0 CONTRAST_LOW=0.12 CONTRAST_COST=3.2 STRUCTURE_BELOW_DB=18.0
combination: BONUS_CONTRAST=0.12 BONUS_CHROMA=0.08 PERIODIC_STRUCTURE=0.5 PERIODIC_DB=15.0 BONUS_PERIODIC=0.15
combination: FINAL_POWER={"released":0.7,"paper":1.0}
"""
MODULES = [
    recording,
    frames,
    spectrum,
    contrast,
    tuning,
    chroma,
    separation,
    signal_to_noise,
]
MODULES += [periodicity, loudness, level, gaps, combined]


def test_every_number_is_what_it_was() -> None:
    # Left out: how much is worked on at a time, which changes no score; limits made of
    # a number of the table; names.
    assert defined(
        MODULES, {"_AT_ONCE", "_LEAD", "LIMITS", "WEIGHTS", "NOT_REPORTED"}
    ) == documented(DOCUMENTED)
    names = (
        "snr_score structure(1-SF) dr_score lufs_score level_score transient_score "
        "crest_score bandwidth contrast"
    )
    weights = (3.5, 2.5, 1.0, 1.0, 1.0, 1.0, 0.8, 0.3, 2.4, 1.2)
    assert (
        dict(zip([*names.split(), "chroma"], weights, strict=True)) == combined.WEIGHTS
    )
