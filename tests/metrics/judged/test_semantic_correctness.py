from mmeval.media import Interleaved, text_part
from mmeval.metric import bind, load_metric
from mmeval.records import Trial
from tests.support.judging import (
    BLUE,
    QUESTION,
    RED,
    answer_trial,
    graded,
    interleaved,
    judge_unim,
)

CAPTIONED = "The red kettle: <<image1: a kettle, red>>"
TRIAL = answer_trial(captioned_reference=CAPTIONED)


def test_the_judge_sees_the_captioned_answer_and_the_reference_and_never_the_question() -> (
    None
):
    done = judge_unim("semantic_correctness", TRIAL, graded(5))
    (asked,) = done.questions
    assert "candidate begins\nIt is <<image1: a red kettle>>.\n" in asked
    assert f"reference begins\n{CAPTIONED}\n" in asked
    assert QUESTION not in "".join(str(request.messages) for request in done.asked)
    assert not done.of("judge").calls[0].request.messages[-1].content.media()
    done = judge_unim(
        "semantic_correctness", TRIAL, graded("4", "near"), graded(4, "near"), repeats=2
    )
    evidence = done.score.evidence
    assert done.score.value == 0.75
    assert evidence["score"] == 4
    assert evidence["votes"][0]["reason"] == "near"
    assert len(done.of("captioner").calls) == 1
    assert evidence["captions"] == [
        {"label": "image1", "kind": "image", "text": "a red kettle"}
    ]


def test_a_reference_with_captions_is_shown_as_it_is_and_the_data_sets_own_captions_come_first() -> (
    None
):
    text = "It sings <audio1: a whistle> by <image7>"
    done = judge_unim(
        "semantic_correctness",
        answer_trial(reference=Interleaved.from_text(text)),
        graded(5),
    )
    assert f"reference begins\n{text}\n" in done.questions[0]
    assert "reference_captions" not in done.score.evidence
    trial = answer_trial(
        reference=interleaved("<<image2>>"), captioned_reference=CAPTIONED
    )
    done = judge_unim("semantic_correctness", trial, graded(5))
    assert len(done.of("captioner").calls) == 1
    assert done.score.evidence["reference"] == "the label captioned_reference"
    assert "reference_captions" not in done.score.evidence


def test_a_reference_without_captions_is_captioned_and_an_empty_answer_has_the_lowest_grade() -> (
    None
):
    trial = answer_trial(
        "<<image1>>", reference=interleaved("<<image1>> and <<image2>>")
    )
    done = judge_unim("semantic_correctness", trial, graded(3))
    assert (
        "reference begins\n<<image1: a red kettle>> and <<image2: a blue kettle>>\n"
        in done.questions[0]
    )
    assert len(done.of("captioner").calls) == 2
    assert done.score.evidence["reference"] == "the first reference"
    assert [one["text"] for one in done.score.evidence["reference_captions"]] == [
        "a red kettle",
        "a blue kettle",
    ]
    done = judge_unim(
        "semantic_correctness",
        Trial(TRIAL.sample, output=Interleaved((text_part("  \n"),))),
    )
    assert done.score.value == 0.0
    assert done.score.evidence["score"] == 1
    assert done.calls == []


def test_without_a_reference_or_a_caption_it_is_unscored() -> None:
    for reference in (None, interleaved(" ")):
        bare = answer_trial(reference=reference, captioned_reference="")
        done = judge_unim("semantic_correctness", bare)
        assert done.score.status == "unscored"
        assert done.of("captioner").calls == []
        assert (
            bind(load_metric("sc")).sample_fault(bare.sample) == done.score.reason != ""
        )
    trial = answer_trial("<<image1>>", reference=interleaved("<<image1>>", BLUE))
    for medium, whose in ((RED, "answer"), (BLUE, "reference")):
        done = judge_unim("semantic_correctness", trial, lost=medium)
        assert done.score.status == "unscored"
        assert done.score.bounds == (0.0, 1.0)
        assert done.score.cause == "lost"
        assert whose in done.score.reason
        assert "image1: server" in done.score.reason
        assert done.of("judge").calls == []


def test_the_standard_reading_refuses_what_the_authors_script_guesses() -> None:
    read: dict[str, tuple[int | None, int | None]] = {
        '{"score": 4}': (4, 4),
        '{"score": 5.0}': (5, 5),
    }
    read |= {
        '```json\n{"score": 2}\n```': (2, 2),
        "{'score': 3,}": (3, 3),
        "Grade: 4": (None, 4),
    }
    read |= {
        "out of 5 I give 2": (None, 5),
        '{"score": 4.7}': (None, 4),
        '{"score": 7, "why": "2 gaps"}': (None, 2),
    }
    read |= dict.fromkeys(
        ['{"score": 45}', '{"score": true}', "[" * 100_000], (None, None)
    )
    for said, grades in read.items():
        found = [
            judge_unim("sc", TRIAL, said, profile=profile).score
            for profile in ("standard", "official")
        ]
        assert tuple(one.evidence.get("score") for one in found) == grades, said[:40]
