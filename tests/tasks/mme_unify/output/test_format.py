"""Answers in MME-Unify's result files: written as the scripts read them, and read back
without loss."""

import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.dataset.bad_sample import rows_of
from mmeval.dataset.contract import DataSource
from mmeval.errors import UsageError
from mmeval.interchange.contract import AnsweredRun, StoredAnswer
from mmeval.media import Interleaved, Media, Part, media_part, text_part
from mmeval.records import ErrorInfo, Sample, Trial
from mmeval.tasks import mme_unify
from mmeval.tasks.mme_unify.loader import FILES, load
from mmeval.tasks.mme_unify.output.format import read_output, write_output
from mmeval.tasks.mme_unify.turns import MazeTurn, answer_of
from tests.support.interchange import held, task_of
from tests.support.tiny_media import picture

BUNDLED = Path(mme_unify.__file__).parent / "bundled"
SAMPLES = {
    sample.id: sample
    for file in FILES
    for sample in rows_of(load(DataSource("t", BUNDLED, options={"file": file})))
}
RED, BLUE = (
    media_part(Media.from_bytes(picture(colour=shade)), "image") for shade in (1, 2)
)
DAMAGED = media_part(Media.from_bytes(b"\0\0\0\x18ftypisom\0\0\0\0isommp42"), "video")
CLIP = media_part(Media.from_path(BUNDLED / "media" / "rolling.mp4"), "video")


def trial(name: str, *parts: Part | str, repeat: int = 0) -> Trial:
    content = [text_part(part) if isinstance(part, str) else part for part in parts]
    return Trial(SAMPLES[name], repeat, output=Interleaved(tuple(content)))


def written(folder: Path, *trials: Trial) -> dict[str, list[dict[str, Any]]]:
    folder.mkdir()
    write_output(AnsweredRun("m", (task_of("t", list(trials)),)), folder)
    return {
        file.name: json.loads(file.read_text())
        for file in sorted(folder.glob("*.json"))
    }


TRIALS = [
    trial("sipu/1", "The answer is B."),
    trial("sipu/0", "A"),
    trial("mitiu/3", "I do not know."),
    trial("tig/4", RED),
    trial("fir/1", "Here it is:", RED, BLUE),
    trial("civg/0", CLIP, RED),
    trial("tvg/5", CLIP),
    trial("vp/7", DAMAGED),
    trial("iee/0", "Explanation: it is red", RED),
    trial("csq/0", "Answer: C", RED),
    trial("al/0", "B", Part("image")),
    trial("sd/0", "A"),
    Trial(
        SAMPLES["vcot/0"],
        output=answer_of([MazeTurn(0, "Right", [1, 0], RED), MazeTurn(1, "Finish")]),
    ),
    Trial(SAMPLES["vcot/1"], error=ErrorInfo("timeout", "late")),
]


def test_letters_are_bare_and_rows_are_those_of_the_question_files(
    tmp_path: Path,
) -> None:
    files = written(tmp_path / "out", *TRIALS)
    understood = files["Understanding_Unified.json"]
    assert [(row["question_id"], row["output"]) for row in understood] == [
        (0, "A"),
        (1, "B"),
        (3, ""),
    ]
    (csq,), (spotted,), (lines,) = (
        files[f"{name}.json"]
        for name in ("Common_Sense_Question", "Spot_Diff", "Auxiliary_Lines.")
    )
    assert csq["output"] == {"output_choice": "C", "output_image": "media/csq_0_1.png"}
    assert spotted["output"] == {
        "selected_answer": "A",
        "difference_image": None,
        "explanation": "",
    }
    assert lines["output"] == {"output_choice": "B", "output_image": None}
    pytest.importorskip("av")
    clips = [row for row in files["Generation_Unified.json"] if "output2" in row]
    assert [len(row["output2"]) for row in clips] == [1, 12, 0]
    assert clips[1]["output2"][0] == "media/tvg_5_frame01.jpg"
    first, second = files["Visual_CoT.json"]
    assert first["outputs"]["output_step_0"] == {
        "output_action": "Right",
        "output_location": [1, 0],
        "output_image": "media/vcot_0_1.png",
        "full_text": "Step 0\nAction: Right\nLocation: [1, 0]\nImage:\n",
    }
    assert (
        second.keys() & {"outputs", "mmeval"},
        second["mmeval"]["error"]["kind"],
    ) == ({"mmeval"}, "timeout")
    for name, rows in files.items():
        (released,) = BUNDLED.rglob(name)
        known = json.loads(released.read_text())
        answers = ("output", "output2", "outputs", "mmeval")
        assert all(
            {key: row[key] for key in row if key not in answers} in known
            for row in rows
        ), name


def test_what_is_written_is_read_back_as_it_was(tmp_path: Path) -> None:
    again = trial("csq/0", "D", repeat=1)
    written(tmp_path / "out", *TRIALS, again)
    answers = read_output(tmp_path / "out")
    for one in (*TRIALS, again):
        found = answers.answer("t", one.sample, one.repeat)
        assert isinstance(found, StoredAnswer), one.sample.id
        response = found.response
        assert response.error == one.error
        if one.output is not None:
            assert response.output is not None
            assert held(response.output) == held(one.output), one.sample.id


@pytest.mark.parametrize(
    ("parts", "fields"),
    [
        (["e"], {"output_explanation": "e"}),
        ([RED], {"output_image": "media/iee_0_1.png"}),
        (["e", Part("image")], {"output_explanation": "e", "output_image": None}),
        ([], {}),
    ],
    ids=["text", "picture", "lost picture", "nothing"],
)
def test_the_keys_of_an_explained_edit_are_those_of_its_parts(
    parts: list[Part | str], fields: dict[str, Any], tmp_path: Path
) -> None:
    one = trial("iee/0", *parts)
    (rows,) = written(tmp_path / "out", one).values()
    assert (rows[0]["output"], "mmeval" in rows[0]) == (fields, False)
    found = read_output(tmp_path / "out").answer("t", one.sample, 0)
    assert isinstance(found, StoredAnswer)
    assert found.response.output == one.output


def test_exact_parts_are_not_used_for_another_answer(tmp_path: Path) -> None:
    (rows,) = written(tmp_path / "out", trial("csq/0", "Answer: C")).values()
    rows[0]["output"]["output_choice"] = "D"
    (tmp_path / "out" / "Common_Sense_Question.json").write_text(json.dumps(rows))
    found = read_output(tmp_path / "out").answer("t", SAMPLES["csq/0"], 0)
    assert isinstance(found, StoredAnswer)
    assert found.response.output == Interleaved((text_part("D"),))


def test_other_benchmarks_have_no_place(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not in MME-Unify"):
        written(tmp_path / "b", Trial(Sample("1", ()), output=Interleaved()))
