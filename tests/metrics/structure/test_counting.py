from typing import Any

from mmeval.media import Interleaved, Media, Part, SpellingName, text_part
from mmeval.metrics.structure.counting import Mode, Structures, Unit, structures_of
from mmeval.records import Score, Trial
from tests.support.trials import trial

PNG = Media.from_bytes(b"\x89PNG\r\n\x1a\n")


def counted(
    scored: Trial,
    mode: Mode = "occurrences",
    unit: Unit = "tags",
    spelling: SpellingName = "tag",
) -> Any:
    found = structures_of(scored, mode=mode, unit=unit, spelling=spelling)
    assert isinstance(found, Structures)
    return found


def test_each_mode_counts_by_its_rule_and_hidden_reasoning_does_not_count() -> None:
    modes: dict[Mode, tuple[int, int]] = {
        "occurrences": (3, 1),
        "unique": (2, 1),
        "unique_no_echo": (1, 0),
    }
    for mode, (images, echoed) in modes.items():
        scored = trial(
            "<<image1>> <<image1>> <<image2>> <<audio1>>",
            "x",
            given="look at <<image1>>",
        )
        echo = counted(trial("<<image1>>", "<<image1>>", given="<<image1>>"), mode)
        assert counted(scored, mode).answer == {"image": images, "audio": 1}
        assert echo.reference == {"image": 1}
        assert echo.answer == ({"image": 1} if echoed else {})
    thought = Part("reasoning", text="<<image1>>", raw="<think><<image1>></think>")
    assert counted(
        trial(Interleaved((thought, text_part("<<audio1>>"))), "x")
    ).answer == {"audio": 1}
    scored = trial("<gen_img1>", "x")
    assert counted(scored).answer == {}
    assert counted(scored, spelling="block").answer == {"image": 1}
    # placeholders without numbers are distinct things
    assert counted(
        trial("<boi><eoi> <boi><eoi>", "x"), "unique", spelling="pair"
    ).answer == {"image": 2}


def test_the_unit_decides_between_tags_and_files_and_without_a_side_it_is_unscored() -> (
    None
):
    woven = Interleaved.from_text("<<image1>> <<image2>>", {"image1": PNG})
    answer = Interleaved((*woven.parts, Part("image", media=PNG)))
    units: dict[Unit, int] = {"tags": 2, "files": 2, "parts": 3}
    assert {
        unit: counted(trial(answer, "x"), unit=unit).answer["image"] for unit in units
    } == units
    for missing in (trial(None, "x"), trial("x")):
        found = structures_of(missing, mode="occurrences", unit="tags", spelling="tag")
        assert isinstance(found, Score) and (found.value, found.status) == (
            None,
            "unscored",
        )
