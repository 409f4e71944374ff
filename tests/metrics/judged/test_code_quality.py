import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmeval.media import Interleaved, Media, Part
from mmeval.metrics.judged.code_quality import (
    DIMENSIONS,
    NO_CODE,
    OVERALL,
    safely_fenced,
    unwrapped,
)
from mmeval.metrics.produced import labelled
from mmeval.records import Trial
from tests.support import tiny_media
from tests.support.judging import QUESTION, RED, Judged, graded, judge_unim, unim_sample

ONE = "x = 1"
FENCED = f"```python\n{ONE}\n```"


def answer(text: str, **code: Media | str) -> Trial:
    return Trial(unim_sample(), output=Interleaved.from_text(text, code))


def quality(trial: Trial, *says: Any, **more: Any) -> Judged:
    return judge_unim("code_quality", trial, *says, **more)


def of(*code: str) -> Trial:
    return Trial(
        unim_sample(), output=Interleaved(tuple(Part("code", text=one) for one in code))
    )


def shown(done: Judged) -> list[str]:
    """What stands in the place of the code in each question."""
    return [
        re.split(r" code begins\n|\n\w+ code ends\n", asked)[1]
        for asked in done.questions
    ]


def items(done: Judged) -> list[Any]:
    return list(done.score.evidence["items"])


def test_each_piece_is_graded_by_itself_and_a_tag_beside_its_code_is_none() -> None:
    done = quality(
        answer("<<code1>> then <<code2>>", code1=ONE, code2="y = 2"),
        graded(5),
        graded(2),
    )
    assert done.score.value == 0.625
    assert items(done)[0] == {
        "label": "code1",
        "quality": 1,
        "reason": "so",
        "score": 5,
    }
    assert shown(done) == [f"```\n{ONE}\n```", "```\ny = 2\n```"]
    assert QUESTION not in str(done.of("judge").calls)
    tag = Part("code", raw="<<code1>>", label="code1")
    code = Part("code", text=ONE, label="code1")
    pieces = labelled(Interleaved((tag, code, Part("code", text="y"), code)), "code")
    assert [(label, part.text) for label, part in pieces] == [
        ("code1", ONE),
        ("code3", "y"),
    ]
    done = quality(answer(f"PictureCase:\n{FENCED}\n<<image1>>"))
    assert done.score.status == "inapplicable"
    assert done.of("judge").calls == []


@pytest.mark.parametrize(
    "code",
    [{}, {"code1": " \n"}, {"code1": "```\n\n```"}],
    ids=["tag", "blank", "empty fence"],
)
def test_a_tag_without_code_is_0_or_unscored_and_no_judge_is_asked(
    code: dict[str, str],
) -> None:
    done, official = (
        quality(answer("See <<code1>>", **code), profile=name)
        for name in ("standard", "official")
    )
    assert done.score.value == 0.0
    assert done.of("judge").calls == []
    assert (items(done)[0]["reason"] == NO_CODE) == (not code)
    assert official.score.value is None
    assert official.score.bounds == (0, 1)


def test_a_file_that_is_not_read_here_is_unscored() -> None:
    packed = Part("code", media=Media.from_bytes(tiny_media.zipped("a.py")))
    done = quality(Trial(unim_sample(), output=Interleaved((packed,))))
    assert done.score.status == "unscored"
    assert done.of("judge").calls == []


def test_code_in_a_file_of_its_own_is_read_and_of_long_code_the_beginning_shown() -> (
    None
):
    files = (
        b"print(1)\n",
        RED.read(),
        tiny_media.pdf("x = 1"),
        tiny_media.word("x = 1"),
    )
    code, *others = (
        Part("code", media=Media.from_bytes(data), label=f"code{at}")
        for at, data in enumerate(files)
    )
    done = quality(Trial(unim_sample(), output=Interleaved((code, *others))), graded(5))
    official = quality(
        Trial(unim_sample(), output=Interleaved(tuple(others))), profile="official"
    )
    assert shown(done) == ["```\nprint(1)\n\n```"]
    assert official.score.status == "unscored"
    assert [item["quality"] for item in items(done)] == [1, 0, 0, 0]
    long = Part(
        "code", media=Media.from_bytes(b"x = 1\n" * 10_000, name="a.py"), label="code1"
    )
    done = quality(
        of("x = 1\n" * 6667, "y", "x" * 40_000), graded(3), graded(3), graded(3)
    )
    read = quality(Trial(unim_sample(), output=Interleaved((long,))), graded(3))
    assert [("goes on" in asked) for asked in done.questions] == [True, False, False]
    assert len(shown(done)[0]) == len(shown(read)[0]) == 40_000 + len("```\n\n```")
    assert [("remarks" in item) for item in (*items(done), *items(read))] == [
        True,
        False,
        False,
        True,
    ]


def test_code_stands_in_one_fence_that_it_cannot_end() -> None:
    fenced = {
        ONE: f"```\n{ONE}\n```",
        FENCED: FENCED,
        f"\n~~~ c++ \r\n{ONE}\n~~~\n": f"```c++\n{ONE}\n```",
    }
    fenced |= {
        "`````": "``````\n`````\n``````",
        f"```{'c' * 30}\nx\n```": f"```{'c' * 30}\nx\n```",
    }
    more = (f"```{'c' * 31}\nx\n```", f"{FENCED}\n{FENCED}", f"```python\n{ONE}")
    fenced |= {code: f"````\n{code}\n````" for code in more}
    assert {code: shown(quality(of(code), graded(3)))[0] for code in fenced} == fenced


@settings(max_examples=30)
@given(st.text(alphabet="`~ab\n "), st.sampled_from(["", "c", "c++"]))
def test_what_was_fenced_is_unwrapped_whole(code: str, language: str) -> None:
    assert unwrapped(safely_fenced(code, language)) == (code, language)


def test_the_official_profile_believes_the_overall_number_and_fences_again_what_has_a_fence() -> (
    None
):
    done = quality(
        of(FENCED),
        json.dumps({"correctness": 1, "overall_score": 130}),
        profile="official",
    )
    (item,) = items(done)
    assert shown(done) == [f"```\n{FENCED}\n```"]
    assert done.score.value == 1
    assert item["correctness"] == 1
    assert item["raw"] == 1.3
    names = (
        "correctness",
        "readability",
        "design",
        "performance",
        "security",
        "testability",
    )
    assert DIMENSIONS.names == names
    assert DIMENSIONS.low == 0
    assert DIMENSIONS.high == 100
    assert OVERALL == "overall_score"
    assert all(f'"{name}": <' in done.questions[0] for name in names)
