from typing import Any

from mmeval.media import Interleaved, Media, Part, text_part
from mmeval.metrics.structure.part_order import official_order, order_of, part_order
from tests.support.trials import score_of, trial

I0 = "<image_start><image_0><image_end>"
I1 = "<image_start><image_1><image_end>"
A0 = "<audio_start><audio_0><audio_end>"
PNG = Media.from_bytes(b"\x89PNG\r\n\x1a\n")
OFFICIAL = [
    (f"Text {I0}", ["ti"], 1),
    (f" \n{I0}", ["ti"], 1),
    (f"{I0}x{I1}", ["iti", "tii"], 1),
    ("only", ["t"], 1),
]
OFFICIAL += [
    ("<image_begin><image_0><image_end> t", ["it"], 0),
    (f"s{I0}s{I1}{I1}s{I1}{I1}{I1}", ["titiitiii"], 1),
]
OFFICIAL += [("<image_start><audio_0><image_end>", ["a"], 1)]


def test_the_order_is_a_letter_a_part_and_blank_text_and_a_dangling_placeholder_may_be_none() -> (
    None
):
    orders = {
        "": "",
        "words": "t",
        f"one {I0} two {A0}": "tita",
        f"{I0}{I1} \n ": "ii",
        f" \n{I0}": "i",
    }
    orders |= {
        "<<video1>> <<document1>> <<code1>> <<3d1>>": "vdc3",
        "<gen_text1> words": "t",
    }
    assert {text: order_of(Interleaved.from_text(text)) for text in orders} == orders
    content = Interleaved(
        (
            text_part("a"),
            Part("reasoning", text="hm", raw="<think>hm</think>"),
            text_part("b"),
        )
    )
    assert order_of(content) == "t"
    # official oddity: a blank before the first medium is text, but not one behind it
    assert official_order(f" {I0} ") == "ti"
    assert order_of(Interleaved.from_text(f" {I0} ")) == "i"
    beside = trial(
        Interleaved((text_part("here"), Part("image", media=PNG))),
        metadata={"order": "ti"},
    )
    assert [
        score_of(part_order, beside, profile).value
        for profile in ("standard", "official")
    ] == [1, 1]
    scored = trial("text <<image1>>", metadata={"order": ["ti"]})
    assert [
        score_of(part_order, scored, dangling=it).value for it in (True, False)
    ] == [1, 0]


def test_the_accepted_orders_are_those_of_a_label_or_a_switch_or_else_of_the_references() -> (
    None
):
    orders: list[tuple[Any, Any, list[str]]] = [
        ({"order": ["it", "ti"]}, {}, ["it", "ti"]),
        ({"order": "it"}, {}, ["it"]),
    ]
    orders += [
        ({"layout": ["a"]}, {"order_key": "layout"}, ["a"]),
        ({"order": ["it"]}, {"orders": ["tt"]}, ["tt"]),
    ]
    orders += [({}, {}, ["ti", "a"])]
    for metadata, switches, accepted in orders:
        references = ["words <<image1>>", "words <<image2>>", "<<audio1>>"]
        score = score_of(
            part_order, trial("x <<image1>>", references, metadata=metadata), **switches
        )
        assert score.evidence == {"found": "ti", "accepted": accepted}
        assert score.value == float("ti" in accepted)


def test_the_official_profile_agrees_with_the_released_evaluator() -> None:
    for response, orders, value in OFFICIAL:
        assert (
            score_of(
                part_order, trial(response, metadata={"order": orders}), "official"
            ).value
            == value
        )
    # A stray token with a number makes the answer wrong.
    for response in (
        f"see <image_0>: {I0}",
        "<image_begin><image_0><image_end>",
        f"{I0} <audio_3>",
    ):
        assert official_order(response) is None
        assert (
            score_of(
                part_order,
                trial(response, metadata={"order": ["ti", "it", "t"]}),
                "official",
            ).value
            == 0
        )
    assert [
        score_of(part_order, scored).status for scored in (trial(None, "x"), trial("x"))
    ] == ["unscored"] * 2
