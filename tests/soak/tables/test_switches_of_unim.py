"""The mutation check of UniM: another value of each switch changes some score of a few answers."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from mmeval.content import Interleaved, Media, Part
from mmeval.metric import bind, load_metric, score_derived, score_judged, score_one
from mmeval.program.calls import Call, Reply, Role
from mmeval.records import Response, Sample, Score, Trial, user
from tests.support.shapes import cube, joined, obj, off, plane_cloud, ply, shown, sphere_cloud, tetrahedra, torus
from tests.support.sounds import heard, tone
from tests.support.tiny_media import PLAIN_OFF, clip, pdf, picture, wav
from tests.support.unim_judging import taken
from tests.tasks.unim.test_switches import values

SC, ICS = "semantic_correctness", "interleaved_coherence"
TEXT, CODE, DOCUMENT = "text_quality", "code_quality", "document_quality"
PLAIN, OTHER = {"text": "Say it in other words."}, {"text": "Say it in other words. {{ form }}"}
SCORE, GRADES = '{"score": 3}', '{"coherence": 4, "style_consistency": 2}'
GRADE = '{"reason": "so", "score": 3}'
DIMENSIONS = '{"reason": "so", "score": 3, "overall": 2, "overall_score": 40, "overall_score_100": 70}'
ELSEWHERE: Mapping[str, set[str]] = {"video_quality": {"model", "seed"}}
"""Switches that matter only to a network, which the tests of their metric make."""


class Effect(NamedTuple):
    """A value of a switch, with answers of which it changes one, beside other switches and with these replies."""

    metric: str
    switch: str
    value: Any
    answers: Sequence[Trial]
    beside: Mapping[str, Any] = {}
    says: str | Sequence[str] = ""


def answered(content: Interleaved, reference: Interleaved | None = None, asked: str = "What is it?") -> Trial:
    return Trial(Sample("s", (user(asked),), () if reference is None else (reference,)), output=content)


def with_media(kind: str, *files: bytes) -> Trial:
    media = {f"{kind}{at}": Media.from_bytes(file) for at, file in enumerate(files, 1)}
    tags = " ".join(f"<<{name}>>" for name in media)
    return answered(Interleaved.from_text(f"Here it is: {tags}.", media), Interleaved.from_text("A kettle."))


@cache
def effects() -> Sequence[Effect]:
    return list(_effects())


def _effects() -> Iterator[Effect]:
    yield from _of_structure()
    yield from _of_judged()
    yield from (Effect("sqcs", "eta", value, []) for value in (0.6, 0.8))
    yield Effect("sqcs", "of", ["unim_gq", SC], [])
    yield Effect("unim_gq", "of", [SC], [], {"of": [SC, "unim_gq"]})
    yield from _of_media()
    yield from _of_shapes()


def _of_structure() -> Iterator[Effect]:
    """The answer has the picture of the question, one tag twice, a picture that no tag names, and another spelling."""
    media = {name: Media.from_bytes(picture()) for name in ("image2", "image3")}
    text = "<<image1>> <<audio1>> <<audio1>> <<image2>> <video_start><video_0><video_end>"
    once, alone = (Interleaved.from_text(words) for words in ("<<audio1>> <<image1>>", "<<image1>>"))
    trials = [answered(one, once, "<<image1>>") for one in (Interleaved.from_text(text, media), alone)]
    values = {"mode": ("unique", "unique_no_echo"), "count": ("files", "parts"), "spelling": ("span",)}
    for metric in ("strict_structure", "lenient_structure"):
        yield from (Effect(metric, switch, value, trials) for switch, own in values.items() for value in own)


def _of_judged() -> Iterator[Effect]:
    one = [with_media("image", picture())]
    text, document = [answered(Interleaved.from_text("A kettle boils <<image1>>."))], [pdf("Apple 52.1\nPear 57.25")]
    answers = {SC: one, ICS: one, TEXT: text, CODE: [answered(Interleaved((Part("code", text="print(1)"),)))]}
    answers[DOCUMENT] = [with_media("document", *document)]
    for metric, says in ((SC, SCORE), (ICS, GRADES), (TEXT, GRADE), (CODE, GRADE), (DOCUMENT, GRADE)):
        varied = [says, says.replace("3", "5").replace("4", "5"), says]
        yield Effect(metric, "repeats", 2, answers[metric], says=says)
        for how in ("median", "majority"):
            yield Effect(metric, "combine", how, answers[metric], {"repeats": 3}, varied)
        yield Effect(metric, "prompt", OTHER, answers[metric], says=says)
    files = {"image": picture(), "audio": wav(), "video": clip(), "document": pdf(), "3d": PLAIN_OFF}
    for metric, says in ((SC, SCORE), (ICS, GRADES)):
        for kind, file in files.items():
            yield Effect(metric, f"caption_{kind}", PLAIN, [with_media(kind, file)], says=says)
    yield Effect(SC, "reading", "official", one, says="I would say 4.")
    yield Effect(SC, "prompt", "semantic_correctness_intent_aware", one, says=SCORE)
    for switch, value in (("weight", 0.7), ("weight", 0.9), ("show_input", True), ("captions", "released")):
        yield Effect(ICS, switch, value, one, says=GRADES)
    yield Effect(ICS, "reading", "official", one, says='{"coherence": 3.5, "style_consistency": 2}')
    yield Effect(ICS, "judge_failure", "lowest", one, says="no grade")
    for metric in (TEXT, CODE):
        yield Effect(metric, "rubric", "dimensions", answers[metric], says=DIMENSIONS)
        yield Effect(metric, "dimensions_prompt", OTHER, answers[metric], {"rubric": "dimensions"}, DIMENSIONS)
    fenced = [answered(Interleaved((Part("code", text="```\nx = 2\n```"),)))]
    yield Effect(CODE, "fence", "released", fenced, says=GRADE)
    for rubric in ("overall", "dimensions"):
        yield Effect(DOCUMENT, "rubric", rubric, answers[DOCUMENT], says=DIMENSIONS)
    yield Effect(DOCUMENT, "extraction", "pictures", answers[DOCUMENT], says=GRADE)
    yield Effect(DOCUMENT, "hints", False, answers[DOCUMENT], says=GRADE)
    yield Effect(DOCUMENT, "ocr", "none", [with_media("document", picture(size=(64, 32)))], says=GRADE)
    for metric, tag in ((CODE, "<<code1>>"), (DOCUMENT, "<<document1>>")):
        yield Effect(metric, "unreadable", "unscored", [answered(Interleaved.from_text(tag))], says=GRADE)


def _of_media() -> Iterator[Effect]:
    fading = np.exp(-5 * np.arange(len(tone(0.3))) / len(tone(1.0))).astype(np.float32)
    chords = [sum(tone(0.3, root * ratio) / np.float32(4) for ratio in (1, 1.5, 2)) for root in (262.0, 330.0, 392.0)]
    noise = (np.random.default_rng(0).normal(size=len(tone(2.0))) / 8).astype(np.float32)
    plucked = np.concatenate([chord * fading for chord in chords * 2])
    sounds = [heard(sound) for sound in (plucked, tone(2.0) * np.float32(0.3), noise)]
    for switch, value in (("combination", "paper"), ("hpss_margin", 1.0), ("hpss_margin", None), ("final_power", 1.0)):
        yield Effect("audio_quality", switch, value, sounds)
    yield Effect("audio_quality", "rounding", "released", sounds)
    yield Effect("audio_quality", "apply_b_per", False, sounds, {"hpss_margin": 1.0})
    large, small = ([with_media("image", _noisy_picture(side))] for side in (300, 200))
    for switch, value in (("method", "released"), ("worst", 50.0), ("worst", 100.0)):
        yield Effect("image_quality", switch, value, large)
    yield Effect("image_quality", "short_side", 256, small)
    broken = {"audio": b"RIFF\x04\0\0\0WAVEx", "image": b"\x89PNG\r\n\x1a\n" + bytes(20)}
    broken["video"] = b"\x00\x00\x00\x20ftypisom" + bytes(60)
    for kind, file in broken.items():
        yield Effect(f"{kind}_quality", "unreadable", "unscored", [with_media(kind, file)])


def _noisy_picture(side: int) -> bytes:
    import io

    from PIL import Image

    buffer = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 256, (side, side, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def _of_shapes() -> Iterator[Effect]:
    whole, (points, faces), (corners, sides) = [shown(off(torus()))], torus(), cube()
    loose = corners[sides].reshape(-1, 3), np.arange(sides.size).reshape(-1, 3)
    clouds = [shown(ply(sphere_cloud(count))) for count in (40, 300)] + [shown(ply(plane_cloud()))]
    values: Mapping[str, tuple[Any, Sequence[Trial]]] = {
        "combination": ("paper", whole),
        "ply": ("cloud", [shown(ply(*torus()))]),
        "merge_vertices": (False, [shown(obj(loose))]),
        "dangling": ("kept", [shown(off((np.vstack([points, [[9.0, 9.0, 9.0]]]), faces)))]),
        "degenerate": ("kept", [shown(off((points, np.vstack([faces, [[0, 0, 1]]]))))]),
        "defects": ("dead", [shown(off(joined(cube(), tetrahedra((0.3, 0.3, 0.3)))))]),
        "triangles": ("released", whole),
        "angles": ("signed", clouds),
        "neighbours": ("released", [shown(ply(sphere_cloud(count))) for count in (12, 16, 32)]),
        "rounding": ("released", whole),
        "unreadable": ("unscored", [shown(b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 7\n")]),
    }
    yield from (Effect("quality_3d", switch, value, trials) for switch, (value, trials) in values.items())


def seen(effect: Effect, trial: Trial | None, switches: Mapping[str, Any]) -> Any:
    """What a metric makes of a trial, and what it asks for that; of a derived one what it makes of two numbers."""
    bound = bind(load_metric(effect.metric), switches)
    if trial is None:
        return score_derived(bound, {SC: Score(0.5), "unim_gq": Score(0.25)})
    if not bound.metric.judged:
        return score_one(bound, trial)
    says = [effect.says] if isinstance(effect.says, str) else list(effect.says)
    program = score_judged(bound, trial, Role)
    asked: list[Call] = []
    sent: list[Reply] | None = None
    try:
        while True:
            calls = program.send(sent)
            assert not isinstance(calls, Call)
            asked += calls
            sent = [Reply(_given(call, says[at % len(says)])) for at, call in enumerate(calls)]
    except StopIteration as done:
        return done.value, [call.request.messages for call in asked]


def _given(call: Call, says: str) -> Response:
    return taken(call, lambda asked: says if asked.role == "judge" else "a kettle")


def test_each_switch_is_tried() -> None:
    tried: dict[str, set[str]] = {name: set(ELSEWHERE.get(name, ())) for name in values()["switches"]}
    for effect in effects():
        tried[effect.metric].add(effect.switch)
    assert tried == {name: set(switches) for name, switches in values()["switches"].items()}


@pytest.mark.parametrize("effect", effects(), ids=lambda effect: f"{effect.metric} {effect.switch}")
def test_each_value_makes_a_difference(effect: Effect) -> None:
    changed = {**effect.beside, effect.switch: effect.value}
    trials: Sequence[Trial | None] = effect.answers or [None]
    assert any(seen(effect, trial, effect.beside) != seen(effect, trial, changed) for trial in trials)
