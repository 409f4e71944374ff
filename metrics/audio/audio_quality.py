"""Quality of sounds without a reference, measured from their signal."""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

from mmeval.media import Media
from mmeval.metric import metric
from mmeval.metrics.audio.quality.combination import (
    FINAL_POWER,
    NOT_REPORTED,
    Combination,
    SoundTerms,
    combined,
    factors_of,
    scores_of,
)
from mmeval.metrics.audio.quality.loudness import SHORTEST
from mmeval.metrics.audio.quality.measuring import sound_terms_of
from mmeval.metrics.audio.quality.recording import RATE, recording
from mmeval.metrics.quality.items import (
    ItemScore,
    Rounding,
    Unreadable,
    in_released_digits,
    quality_of_media,
)
from mmeval.records import Score, Trial
from mmeval.system import Condition

WIDEST_MARGIN = 1000.0
"""The widest margin for the separation of music. With a wider margin, no sound counts
as harmonic or percussive."""


class CombinationSwitches(NamedTuple):
    """The switches that control how the measured terms become one number."""

    combination: Combination
    apply_b_per: bool
    final_power: float | None
    rounding: Rounding


def _margin_fault(value: float | None) -> str:
    if value is None or 1 <= value <= WIDEST_MARGIN:
        return ""
    return f"a number from 1 to {WIDEST_MARGIN:g}, or null"


def _power_fault(value: float | None) -> str:
    if value is None or 0 < value < math.inf:
        return ""
    return "a number above 0, or null"


@metric(
    range=(0, 1),
    version="4",
    source="UniM, quality of audio (section 4.1); official: released quality scorer, "
    "audio v4.7",
    profiles={
        "official": {
            "hpss_margin": 1.0,
            "apply_b_per": False,
            "rounding": "released",
            "unreadable": "unscored",
        }
    },
    reference_free=True,
    caution="It measures the signal, not whether a sound is the requested one. Steady "
    "tones score low.",
    looks_at="audio",
)
def audio_quality(
    trial: Trial,
    *,
    combination: Combination = "released",
    hpss_margin: Annotated[float | None, Condition(_margin_fault)] = 3.0,
    apply_b_per: bool = True,
    final_power: Annotated[float | None, Condition(_power_fault)] = None,
    rounding: Rounding = "none",
    unreadable: Unreadable = "zero",
) -> Score:
    """Mean quality of the answer's sounds, measured from the signal alone.

    Range 0 to 1, higher is better. A sound is reduced to one channel at 48 kHz, without
    the silence around it. Ten scores are computed: signal to noise, structure of the
    spectrum, dynamic range, loudness (best at -22 to -14 LUFS), level (no clipping, no
    offset, little silence), transients, crest, bandwidth, spectral contrast, and
    movement of chroma. Their geometric mean is multiplied by penalties for clipping,
    gaps, noise, hiss, high frequencies without structure and low contrast, and by
    bonuses for music in noise and for periodicity. The product is limited to 0..1 and
    raised to a power. Silence scores about 0. The items are sound files, and videos
    that the answer labels as sound.

    A missing or damaged file scores 0. The answer is unscored if a sound is shorter
    than 0.4 seconds (its loudness is undefined), is longer than 15 minutes, or exceeds
    another limit of decoding. Inapplicable without a sound.

    The metric does not recognise what a sound is, or whether it was requested. Loud,
    tonal sound scores high. Steady tones and noise of any colour score low. White noise
    40 dB below the sound, or one clipped sample in a hundred, costs more than half of
    the score. A short pause raises the score. A pause of half a second or more counts
    as a gap. ``transient_score`` is about 0.75 for every sound, by its definition.

    Switches:

    - ``combination``: ``released`` weights the scores as the released scorer does.
      ``paper`` weights all scores equally.
    - ``hpss_margin``: the margin, from 1 to 1000, that separates harmonic and
      percussive sound from the rest. Their ratio is the signal to noise of music. With
      a margin of 1 there is no rest, so all music counts as noiseless. Null omits this
      estimate.
    - ``apply_b_per``: whether the bonus for periodicity is applied.
    - ``final_power``: the power. Null uses the default of the combination: 0.7 for
      ``released``, 1 for ``paper``.
    - ``rounding``: ``none``, or ``released``, which rounds to hundredths of a percent.
    - ``unreadable``: a missing or damaged file scores 0 (``zero``) or has no quality
      (``unscored``).

    Evidence: for each sound, all terms under the names of the released report: levels
    in decibels, shares from 0 to 1, scores, penalties and bonuses. ``q01`` is the
    product before the power, and ``quality_0_100`` is the quality in percent after it.
    With a margin of 1, ``snr_db_hpss`` is only rounding noise. ``lufs`` is null for
    silence.
    """
    switches = CombinationSwitches(combination, apply_b_per, final_power, rounding)

    def item_score(media: Media) -> ItemScore:
        samples = recording(media)
        seconds = len(samples) / RATE
        if seconds < SHORTEST:
            return ItemScore.none(
                f"the sound has {math.floor(1000 * seconds) / 1000:g} seconds without "
                f"the silence around it; loudness needs at least {SHORTEST:g} seconds"
            )
        return quality_of(sound_terms_of(samples, hpss_margin), switches)

    return quality_of_media(trial, "audio", item_score, unreadable=unreadable)


def quality_of(terms: SoundTerms, switches: CombinationSwitches) -> ItemScore:
    """Computes the quality of a recording from its terms, and reports them."""
    scores = scores_of(terms)
    factors = factors_of(terms, scores)
    unpowered = combined(
        terms,
        scores,
        factors,
        combination=switches.combination,
        apply_b_per=switches.apply_b_per,
    )
    power = switches.final_power
    if power is None:
        power = FINAL_POWER[switches.combination]
    quality = exact = unpowered**power
    if switches.rounding == "released":
        quality = in_released_digits(exact)
    evidence: dict[str, Any] = {}
    for name, term in terms._asdict().items():
        if name not in NOT_REPORTED:
            # The loudness of silence is minus infinity, which JSON does not have.
            is_number = term is not None and not math.isinf(term)
            evidence[name] = term if is_number else None
    evidence |= {**scores, **factors, "q01": unpowered, "quality_0_100": 100 * exact}
    return ItemScore(quality, evidence)
