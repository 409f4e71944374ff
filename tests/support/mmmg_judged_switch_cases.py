"""Values of switches of MMMG's judged metrics that make a difference to an answer, or to what is asked about it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mmeval.metric.contract import load_metric
from mmeval.records.trial import Trial
from tests.support.mmmg_switch_cases import Effect
from tests.support.picture_judging import BLUE, LOST, RED, answer, trial_of
from tests.support.pictures import medium, noise

YES, A = answer("yes"), answer("A")
SHOWN = "<image_start><image_0><image_end> "
BIG, EDITED = medium(noise(80, 80)), medium(noise(80, 80, 3))
OTHER = {"text": "Is this another question?"}
THINGS = ["cup", "pen", "rug"]
COLORS = ["red", "blue", "green"]
COLORED = json.dumps(dict(zip(THINGS, COLORS, strict=True)))
PLACED = {"exactly": YES, "": A}
LABELS: Mapping[str, Any] = {"other": "others", "bbox": [10, 10, 30, 30], "box": [40, 40, 60, 60]}


def shown(said: str = "", **labels: Any) -> Trial:
    """An edited picture of 80 x 80."""
    return trial_of(SHOWN + said, EDITED, given=[BIG], **{**LABELS, **labels})


def bare(said: str, **labels: Any) -> Trial:
    """With another spelling of the placeholder."""
    return trial_of("<image_0> " + said, RED, **labels)


PLACES = [["a", "b", "left"], ["c", "d", "above"], ["e", "up left"]]
ASKED: Mapping[str, tuple[Trial, Any]] = {
    "judge_presence": (shown(object=["park", "kite"], others=["sea", "ship"]), YES),
    "judge_count": (shown(object="kites", others="cats", count=4, counts=5), answer("C")),
    "judge_position": (shown(constraint=PLACES, others=[["c", "up left"]]), PLACED),
    "judge_ocr": (shown(object="sign", others="wall", text="open", texts="shut"), answer(["open"])),
    "judge_ocr_multilingual": (shown(object="sign", others="wall", text="open", texts="shut"), answer(["open"])),
    "judge_pattern": (shown("<<p>>", pattern="p", others="q"), YES),
    "judge_self_count": (shown("<count>4</count>", object="kites", others="cats"), answer("C")),
    "judge_self_color": (shown(COLORED, object=THINGS, others=["a"], color=COLORS), YES),
    "judge_self_size": (shown(json.dumps(THINGS), object=THINGS, others=["a"], relation="size", height="height"), YES),
    "judge_self_position": (shown('["a", "a"]', object=[["cup", "pen"], ["rug", "bag"]], others=["a", "b"]), PLACED),
    "judge_self_text": (shown("<text>a b c d e</text>", object="wall", others="door"), answer(["a b c d e"])),
}
"""An answer, and what the judge says of it."""

NUMBERS: Mapping[str, Mapping[str, Any]] = {
    "judge_presence": {
        **{"object_key": "others", "scene": True, "wanted": False, "pictures": "each", "region": "bbox"}
    },
    "judge_count": {"object_key": "others", "count_key": "counts", "fewest": 2, "most": 7},
    "judge_position": {"constraint_key": "others"},
    "judge_ocr": {"object_key": "others", "text_key": "texts", "region": "bbox"},
    "judge_ocr_multilingual": {"object_key": "others", "text_key": "texts"},
    "judge_pattern": {"pattern_key": "others"},
    "judge_self_count": {"object_key": "others", "fewest": 2, "most": 7},
    "judge_self_color": {"object_key": "others", "color_key": "others", "many_colored": ["cup"]},
    "judge_self_size": {"object_key": "others", "relation_key": "height", "note_key": "other"},
    "judge_self_position": {"object_key": "others"},
    "judge_self_text": {"object_key": "others", "least": 6, "most": 4},
}
"""Values that matter to that answer."""


def of_judges() -> Iterator[Effect]:
    for metric, (asked, says) in ASKED.items():
        yield Effect(metric, "reading", "official", [asked], {}, says)
        yield Effect(metric, "lost", "wrong", [asked], {}, {"": LOST})
        yield Effect(metric, "media_first", False, [asked], {}, says)
        yield Effect(metric, "repeats", 3, [asked], {}, says)
        yield from (Effect(metric, switch, value, [asked], {}, says) for switch, value in NUMBERS[metric].items())
        yield from _of_prompts(metric, asked, says)
    two, four = trial_of(SHOWN, BLUE, RED, object="a kite"), shown("<text>a b c d</text>", object="wall")
    yield Effect("judge_presence", "pictures", "last", [two], {}, YES)
    yield Effect("judge_self_text", "least", 4, [four], {}, answer(["a b c d"]))
    yield from _of_regions()
    yield from _of_claims()
    yield from _of_characters()


def _of_prompts(metric: str, asked: Trial, says: Any) -> Iterator[Effect]:
    """Each prompt, with what makes it asked."""
    quarters = shown('["a", "b"]', object=["cup", "pen"])
    beside: Mapping[tuple[str, str], tuple[Trial, Mapping[str, Any]]] = {
        ("judge_presence", "scene_prompt"): (asked, {"scene": True}),
        ("judge_ocr", "anywhere_prompt"): (shown(text="open"), {}),
        ("judge_ocr", "scene_prompt"): (shown(object="a park", text={"left": "a", "right": "b"}), {}),
        ("judge_ocr_multilingual", "anywhere_prompt"): (shown(text="open"), {}),
        ("judge_ocr_multilingual", "chinese_prompt"): (shown(text="天天"), {}),
        ("judge_self_position", "quarter_prompt"): (quarters, {}),
    }
    for switch in load_metric(metric).prompts:
        about, switches = beside.get((metric, switch), (asked, {}))
        yield Effect(metric, switch, OTHER, [about], switches, says if switch != "chinese_prompt" else answer("天"))


def _of_regions() -> Iterator[Effect]:
    for metric in ("judge_presence", "judge_ocr"):
        asked, says = ASKED[metric]
        for switch, value in {"bbox_key": "box", "margin": 8}.items():
            yield Effect(metric, switch, value, [asked], {"region": "bbox"}, says)
        yield Effect(metric, "margin", 12, [asked], {"region": "bbox"}, says)


def _of_claims() -> Iterator[Effect]:
    """By the release's rules the last digit of a number counts, a list may name a thing twice, double blanks part
    words, and what is written otherwise than the usual placeholder is none."""
    said = {
        "judge_self_count": shown("<count>14</count>", object="kites"),
        "judge_self_size": shown('["cup", "cup", "pen", "rug"]', object=THINGS, relation="size"),
        "judge_self_color": bare(COLORED, object=THINGS, color=COLORS),
        "judge_pattern": bare("<<p>>", pattern="p"),
        "judge_self_position": bare('["a", "a"]', object=[["cup", "pen"], ["rug", "bag"]]),
        "judge_self_text": shown("<text>a  b  c d</text>", object="wall"),
    }
    for metric, asked in said.items():
        yield Effect(metric, "statements", "official", [asked], {}, ASKED[metric][1])
    last = bare("", object="a kite")
    yield Effect("judge_presence", "statements", "official", [last], {"pictures": "last"}, YES)


def _of_characters() -> Iterator[Effect]:
    asked, says = shown(text="天天向上"), answer("天天向上")
    yield Effect("judge_ocr_multilingual", "common", "set", [asked], {}, says)
    yield Effect("judge_ocr_multilingual", "second_media_first", True, [asked], {}, says)
