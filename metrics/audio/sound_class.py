"""Sound class: whether the answer's sound, or a part of it, has a requested class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from mmeval.errors import MmevalError
from mmeval.metric import metric
from mmeval.metrics.audio import silence, windows
from mmeval.metrics.audio.clap import CLAP, CLAP_NAME, NEAREST, embeddings, nearest_mean
from mmeval.metrics.audio.clips import MODEL_NEEDS, the_only_clip
from mmeval.metrics.audio.reference_sounds import REFERENCE_SOUNDS, class_embeddings
from mmeval.metrics.models import bound
from mmeval.metrics.produced import wrong
from mmeval.records import Sample, Score, Trial
from mmeval.system import AboveZero, OneOrMore

if TYPE_CHECKING:
    from mmeval.metrics.audio.clips import Samples

Window = Literal["whole", "begin_end", "range", "silence_segments"]
Short = Literal["whole", "empty_begin"]
"""The windows of a clip shorter than two seconds: the full clip, or an empty start."""


class _ClassPart(NamedTuple):
    """A part of a clip, its label, and the class that the label requests."""

    label: str
    class_name: str
    samples: Samples


def _fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    """Returns why a sample's answers cannot be scored; empty if they can."""
    labels, keys = sample.metadata, _keys(switches)
    used_keys = [key for key in keys if labels.get(key)]
    if not used_keys:
        names = " or ".join(map(repr, keys))
        return f"the sample needs a label {names} with the name of a class"
    for key in used_keys:
        if not isinstance(labels[key], str):
            return (
                f"the label {key!r} must be the name of a class, not "
                f"{labels[key]!r:.40}"
            )
    range_key = switches["range_key"]
    if switches["window"] == "range" and not _fractions(labels.get(range_key)):
        return f"the label {range_key!r} must be a range, such as [0, 0.5]"
    return ""


def _keys(switches: Mapping[str, Any]) -> tuple[str, ...]:
    if switches["window"] in ("begin_end", "silence_segments"):
        return (switches["start_key"], switches["end_key"])
    return (switches["target_key"],)


def _fractions(value: Any) -> tuple[float, float] | None:
    """Returns the start and end of a part as fractions of the sound.

    Returns None if the label is not such a pair.
    """
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        return None
    start, end = value
    for fraction in value:
        if isinstance(fraction, bool) or not isinstance(fraction, (int, float)):
            return None
    if not 0 <= start < end <= 1:
        return None
    return start, end


@metric(
    range=(0, 1),
    version="3",
    source="MMMG, the sound tasks and instrument inclusion and exclusion; official: "
    "audio evaluators 54527db8",
    needs=MODEL_NEEDS,
    profiles={"official": {"short": "empty_begin"}},
    check=_fault,
    batch=16,
)
def sound_class(
    trials: Sequence[Trial],
    *,
    model: Annotated[str | Mapping[str, Any], CLAP] = CLAP_NAME,
    references: Annotated[
        str | Mapping[str, Any], REFERENCE_SOUNDS
    ] = "karolpiczak/ESC-50",
    window: Window = "whole",
    threshold: float = 0.68,
    exclude: bool = False,
    nearest: OneOrMore = NEAREST,
    seconds: OneOrMore = windows.LONGEST,
    short: Short = "whole",
    gap: float = 1.0,
    top_db: AboveZero = silence.SPLIT_DB,
    target_key: str = "target",
    start_key: str = "start",
    end_key: str = "end",
    range_key: str = "range",
) -> list[Score]:
    """The share of the requested classes of sound that CLAP finds where they should be.

    Range 0 to 1, higher is better. The similarity of a part to a class is the mean of
    the largest cosines with the class's reference clips. An answer scores 0, with the
    ``reason`` as evidence, unless it has exactly one sound that can be decoded. This
    also holds with ``exclude``. Unscored without an answer or its labels, for a class
    without reference sounds, and if a reference sound cannot be decoded.

    Not measured: the quality of the sound.

    Labels, for example: ``{"target": "siren"}``.

    Switches:

    - ``model``: a CLAP model without feature fusion, by its name on the hub (about 0.6
      GB) or as a folder.
    - ``references``: a folder of reference sounds, such as ESC-50 (0.9 GB,
      github.com/karolpiczak/ESC-50) or OpenMIC-2018 (0.2 GB,
      zenodo.org/records/1432913). It contains ``audio/*.wav`` and a table with the
      columns ``filename`` and ``category`` (``meta/esc50.csv``, ``esc50.csv`` or
      ``dataset.csv``). Or it contains a folder for each class with the files ``0.mp3``,
      ``1.mp3`` and so on (or wav, ogg, flac), of which the first hundred are used. For
      OpenMIC, make these folders from the clips that have only one label, with
      relevance 1.
    - ``window``: the part of the sound that is scored.

      - ``whole``: the whole sound, for the class of ``target_key``.
      - ``range``: the part between the two fractions of ``range_key``, for the class of
        ``target_key``.
      - ``begin_end``: the first and the last seconds, for the classes of ``start_key``
        and ``end_key``. One of the two labels suffices.
      - ``silence_segments``: the segments before and after a pause, for the classes of
        ``start_key`` and ``end_key``. The score is 0 unless there are exactly two
        segments.

    - ``threshold``: a class is found if its similarity is above this. MMMG's
      instruments use 0.62.
    - ``exclude``: a class passes if its similarity is below the threshold.
    - ``nearest``: the number of largest cosines that are averaged.
    - ``seconds``: the length of both parts of ``begin_end``, at most half of the sound
      in whole seconds.
    - ``short``: for a sound shorter than two seconds, both parts are the ``whole``
      sound, or the beginning is silence (``empty_begin``), as in the released scorer.
    - ``gap``, ``top_db``: as in ``silence_segments``.
    - ``target_key``, ``start_key``, ``end_key``, ``range_key``: the labels.

    Evidence: for each label its class, the similarity, and whether the class passes.
    """
    switches: dict[str, Any] = {
        "window": window,
        "target_key": target_key,
        "start_key": start_key,
        "end_key": end_key,
        "range_key": range_key,
        "seconds": seconds,
        "short": short,
        "gap": gap,
        "top_db": top_db,
    }
    parts_of_trials = [_class_parts(trial, switches) for trial in trials]
    clips: list[Samples] = []
    for parts_of_trial in parts_of_trials:
        if not isinstance(parts_of_trial, Score):
            clips += [part.samples for part in parts_of_trial]
    network, sounds = bound(model), bound(references)
    vectors = iter(embeddings(clips, network))
    scores: list[Score] = []
    for parts_of_trial in parts_of_trials:
        if isinstance(parts_of_trial, Score):
            scores.append(parts_of_trial)
            continue
        part_vectors = [next(vectors) for _ in parts_of_trial]
        try:
            class_vectors = [
                class_embeddings(sounds, part.class_name, network)
                for part in parts_of_trial
            ]
        except MmevalError as error:
            scores.append(Score.unscored(str(error)))
            continue
        evidence: dict[str, Any] = {}
        for part, vector, of_class in zip(
            parts_of_trial, part_vectors, class_vectors, strict=True
        ):
            similarity = nearest_mean(vector, of_class, nearest)
            passes = similarity < threshold if exclude else similarity > threshold
            evidence[part.label] = {
                "class": part.class_name,
                "similarity": similarity,
                "passes": passes,
            }
        passed = sum(item["passes"] for item in evidence.values())
        scores.append(Score(passed / len(evidence), evidence=evidence))
    return scores


def _class_parts(trial: Trial, switches: Mapping[str, Any]) -> list[_ClassPart] | Score:
    clip = the_only_clip(trial)
    if isinstance(clip, Score):
        return clip
    if fault := _fault(trial.sample, switches):
        return Score.unscored(fault)
    labels = trial.sample.metadata
    clips = _parts(clip, switches, labels)
    if isinstance(clips, Score):
        return clips
    class_parts: list[_ClassPart] = []
    for key, samples in zip(_keys(switches), clips, strict=True):
        if labels.get(key):
            class_parts.append(_ClassPart(key, labels[key], samples))
    return class_parts


def _parts(
    clip: Samples, switches: Mapping[str, Any], labels: Mapping[str, Any]
) -> tuple[Samples, ...] | Score:
    """Returns the parts of a clip in the order of their labels.

    Returns the score 0 if a pause does not divide the clip into two segments.
    """
    window: Window = switches["window"]
    if window == "begin_end":
        max_seconds = switches["seconds"]
        begin = windows.window(clip, "start", longest=max_seconds)
        if not len(begin) and switches["short"] == "whole":
            return clip, clip
        ending = windows.window(clip, "end", longest=max_seconds, short_end="whole")
        return begin, ending
    if window == "silence_segments":
        intervals = silence.segments(
            clip, gap=switches["gap"], top_db=switches["top_db"]
        )
        if len(intervals) != 2:
            return wrong(
                f"pauses divide the sound into {len(intervals)} segments, not two"
            )
        return tuple(clip[part.start : part.end] for part in intervals)
    if window == "range":
        start, end = labels[switches["range_key"]]
        first, last = round(start * len(clip)), round(end * len(clip))
        return (clip[first:last],)
    return (clip,)
