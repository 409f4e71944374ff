"""Each call of a judge in the released words is the call of the released script.

The expected calls are assembled here, from the rows of the bundled data and stand-ins of
the released texts, as the scripts assemble them.
"""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.able_server import Abilities, AbleServer
from tests.support.cli import QUIET, Ended, mmeval, results
from tests.support.released import use_stand_ins

TASKS = Path(__file__).parents[3] / "tasks"
REPLY = json.dumps({"Judge": 7, "overall_score": 8, "criteria_met": True, "score": 4})
SCORE = "Give a score.\n"
YES_NO = 'Say "Yes" or "No" {{so}}.'
TEXTS = {
    "isg.block.score": SCORE,
    "isg.block.yes_no": YES_NO,
    "isg.block.images": '\nTwo pictures.\n{requirement} {question} {{"Judge": 1}}\n',
    "isg.block.text_image": "A text: {text}\n{requirement}\n{question} {{}}",
    "isg.image": 'A picture. {question}\nReply with {{"Judge": "Yes"}}\n',
    "isg.holistic.golden.0": 'Grade it:\n{{"overall_score": 1}}\n',
    "isg.holistic.golden.1": "\nThe answer:\n",
    "isg.holistic.golden.2": "The golden answer:",
    "isg.holistic.golden.3": "Now\ngrade.",
    "ueval.system": "You check.",
    "ueval.text": "Is it so?\n<<question>>\n<<text_answer>>",
    "ueval.text.rubric": "# Criterion\n<<rubric_item>>",
    "ueval.image.open": "Look.\n<<question>> and <<text_answer>>",
    "ueval.image.rubric": "# Item\n<<rubric_item>>",
    "mmmg.scene": "Scene {scene}?",
    "mmmg.presence": "Is there {obj}?",
    "mmmg.count": "How many {obj}? A: <3, B: 3",
    "mmmg.words": "Read {obj} as [\"word\"].",
    "mmmg.characters": "Read the characters.\n",
    "unim.ics.system": "You are strict.",
    "unim.ics": '\nFive: {samples[\'coherence_5\']}\nGrade {text_content}: {{"a": 1}}',
    "unim.ics.sample.coherence_5": "a {{good}} one",
    "unim.gq.text": 'Grade it: {{"overall": 1}}\n{content}\n',
    "unim.caption.video": "Describe the video.",
    "unim.caption.video.summary.system": "One sentence.",
    "unim.caption.video.summary": "Shorten:\n{dense_caption}",
}  # fmt: skip


class Judge(AbleServer):
    """A server that sees pictures, and answers each question with the same reply."""

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        status, answer = super().answer(body)
        if body in self.questions:
            answer["choices"][0]["message"]["content"] = REPLY
        return status, answer


@pytest.fixture
def judge() -> Iterator[Judge]:
    with Judge(Abilities(json_mode=False, schema_fields=())) as server:
        yield server


@pytest.fixture(autouse=True)
def stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(tmp_path / "cache"))
    use_stand_ins(TEXTS, monkeypatch)


def run(task: str, judge: Judge, output: Path, *flags: str) -> Ended:
    backend = f"openai,model=j,base_url={judge.url},send_seed=false"
    return mmeval(
        "run",
        *("--tasks", task, "--data", "bundled", "--model", "reference"),
        *("--judge", backend),
        *(flag.replace("BACKEND", backend) for flag in flags),
        *("--profile", "official", "--prompts", "released"),
        *("--output_path", output / "out", *QUIET),
    )


def as_text(bodies: list[dict[str, Any]]) -> list[str]:
    """The bodies as text, each once, because equal calls share their reply."""
    return sorted({json.dumps(body, sort_keys=True) for body in bodies})


def rows(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (TASKS / path).read_text().splitlines()]


def picture(path: str, **detail: str) -> dict[str, Any]:
    data = base64.b64encode((TASKS / path).read_bytes()).decode()
    url = f"data:image/png;base64,{data}"
    return {"type": "image_url", "image_url": {"url": url, **detail}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


# --- ISG ------------------------------------------------------------------------------


def isg_body(*items: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": "j",
        "messages": [{"role": "user", "content": list(items)}],
        "temperature": 0.0,
        "response_format": {"type": "json_object"},
    }


def isg_item(block: dict[str, Any]) -> dict[str, Any]:
    if block["type"] == "text":
        return text(block["content"])
    return picture(f"isg/bundled/{block['content']}", detail="low")


def isg_blocks(row: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The blocks by token. The answer of the reference is the golden answer."""
    blocks: dict[str, dict[str, Any]] = {}
    for side, key in (("query", "Query"), ("gen", "Golden")):
        counts = {"text": 0, "image": 0}
        for block in row[key]:
            kind = block["type"]
            counts[kind] += 1
            name = "img" if kind == "image" else "text"
            blocks[f"<{side}_{name}{counts[kind]}>"] = block
    return blocks


def isg_pairs(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    blocks = isg_blocks(row)
    for question in row["predict"]["block_qa"]["questions"]:
        subject, other = blocks[question["subject"]], blocks[question["object"]]
        # the token remains: the script looks for the words of the text
        words = question["Question"]
        for requirement in (SCORE, YES_NO):
            if subject["type"] == other["type"]:
                asked = f'\nTwo pictures.\n{requirement} {words} {{"Judge": 1}}\n'
                yield isg_body(isg_item(subject), isg_item(other), text(asked))
            else:
                shown = subject["content"]
                asked = f"A text: {shown}\n{requirement}\n{words} {{}}"
                yield isg_body(isg_item(other), text(asked))


def isg_pictures(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    blocks = isg_blocks(row)
    (questions,) = row["predict"]["image_qa"].values()
    for question in questions:
        if question["Preliminary"]:
            continue
        asked = f'A picture. {question["Question"]}\nReply with {{"Judge": "Yes"}}\n'
        yield isg_body(isg_item(blocks[question["image"]]), text(asked))


def isg_whole(row: dict[str, Any]) -> dict[str, Any]:
    golden = list(map(isg_item, row["Golden"]))
    return isg_body(
        text('Grade it: {{"overall_score": 1}} '),
        *map(isg_item, row["Query"]),
        text(" The answer: "),
        *golden,
        text("The golden answer:"),
        *golden,
        text("Now grade."),
    )


def test_isg_sends_the_calls_of_its_script(judge: Judge, tmp_path: Path) -> None:
    done = run("isg_story", judge, tmp_path)
    expected: list[dict[str, Any]] = []
    for row in rows("isg/bundled/ISG-Bench.jsonl"):
        if row["Category"].startswith("visual storytelling"):
            expected += [*isg_pairs(row), *isg_pictures(row), isg_whole(row)]
    assert done.code == 0
    assert as_text(judge.questions) == as_text(expected)


# --- UEval ----------------------------------------------------------------------------


def ueval_calls(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    context = f"Is it so?\n{row['prompt']}\n{row['text_ref']}"
    # a text with one criterion is not cached, so there is no system text
    (rubric,) = row["text_rubrics"]
    asked = f"{context}\n\n# Criterion\n{rubric['criterion']}"
    yield {"model": "j", "messages": [{"role": "user", "content": asked}]}

    shown = [picture(f"ueval/bundled/{path}") for path in row["image_ref"]]
    context = f"Look.\n{row['prompt']} and {row['text_ref']}"
    for rubric in row["image_rubrics"]:
        messages = [
            {"role": "system", "content": "You check."},
            {"role": "user", "content": [*shown, text(context)]},
            {"role": "user", "content": f"# Item\n{rubric['criterion']}"},
        ]
        yield {"model": "j", "messages": messages}


def test_ueval_sends_the_calls_of_its_script(judge: Judge, tmp_path: Path) -> None:
    done = run("ueval_art", judge, tmp_path)
    expected: list[dict[str, Any]] = []
    for row in rows("ueval/bundled/test.jsonl"):
        if row.get("task_type") == "art" or row.get("task") == "art":
            expected += ueval_calls(row)
    assert done.code == 0
    assert as_text(judge.questions) == as_text(expected)


# --- MMMG -----------------------------------------------------------------------------

FIRST_JUDGE = [
    ("i_object_include", "Scene a plain white sheet?"),
    (
        "i_object_include",
        "{presence}exactly one red disc and exactly one green square?",
    ),
    ("i_object_exclude", "Scene a red disc above a green disc?"),
    ("i_object_exclude", "{presence}yellow disc?"),
    ("i_object_count", "How many blue squares? A: <3, B: 3"),
    ("i_object_cot", "{presence}exactly one blue triangle without other shapes?"),
    (
        "i_object_attribute",
        "{presence}exactly one red square with exactly one black dot in its middle and "
        "no other dots?",
    ),
    (
        "i_relation_two",
        "{presence}exactly one red disc and exactly one blue square and the disc being "
        "much larger than the square?",
    ),
    (
        "i_relation_all",
        "{presence}four blue bars, all of them equally high except only one?",
    ),
    (
        "i_spacial_relative",
        "{presence}exactly one red disc and exactly one blue square?",
    ),
    ("i_ocr", 'Read the sign as ["word"].'),
    (
        "i_ocr_two",
        "{presence}exactly one sign on the left and exactly one sign on the right?",
    ),
    ("i_ocr_chinese", "Read the characters.\n"),
    ("i_ocr_german", 'Read the board above the door as ["word"].'),
]
"""The file of a row, and what the first judge is asked about its picture."""
SECOND_JUDGE = [
    ("i_spacial_absolute_0", "{presence}exactly one green square?"),
    ("i_spacial_absolute_1", "{presence}exactly one red disc?"),
    ("i_spacial_absolute_1", "{presence}exactly one green square?"),
    ("i_ocr_chinese_0", "Read the characters.\n"),
]
"""A picture, and what the second judge is asked about it."""


def mmmg_body(*items: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": "j",
        "messages": [{"role": "user", "content": list(items)}],
        "temperature": 0.0,
        "top_p": 1.0,
    }


def mmmg_picture(name: str) -> dict[str, Any]:
    return picture(f"mmmg/bundled/seed_instruction/image/{name}.png")


def test_mmmg_sends_the_calls_of_its_script(judge: Judge, tmp_path: Path) -> None:
    done = run("mmmg_image", judge, tmp_path, "--role", "gemini=BACKEND")
    expected: list[dict[str, Any]] = []
    for file, words in FIRST_JUDGE:
        asked = text(words.replace("{presence}", "Is there "))
        expected.append(mmmg_body(mmmg_picture(f"{file}_0"), asked))
    for name, words in SECOND_JUDGE:
        asked = text(words.replace("{presence}", "Is there "))
        expected.append(mmmg_body(asked, mmmg_picture(name)))
    assert done.code == 0
    assert as_text(judge.questions) == as_text(expected)


# --- UniM -----------------------------------------------------------------------------

ANSWER = "The square crosses the picture within one second: <video1>"


def test_unim_sends_the_calls_of_its_scripts(judge: Judge, tmp_path: Path) -> None:
    captioner = "BACKEND,inputs=text+image+audio+video"
    done = run("unim_art", judge, tmp_path, "--captioner", captioner)
    path = "unim/bundled/data/social_science/art/video/vid_0001_01.mp4"
    data = base64.b64encode((TASKS / path).read_bytes()).decode()
    video = {"url": f"data:video/mp4;base64,{data}"}
    items = [
        text("Describe the video."),
        {"type": "video_url", "video_url": video},
    ]
    caption = {
        "model": "j",
        "messages": [{"role": "user", "content": items}],
        "temperature": 0.2,
        "max_tokens": 1024,
    }
    summary = {
        "model": "j",
        "messages": [
            {"role": "system", "content": "One sentence."},
            {"role": "user", "content": f"Shorten:\n[Segment 1] {REPLY}"},
        ],
    }
    captioned = ANSWER.replace("video1", f"video1:{REPLY}")
    words = f'\nFive: a {{{{good}}}} one\nGrade {captioned}: {{"a": 1}}'
    coherence = {
        "model": "j",
        "messages": [
            {"role": "system", "content": "You are strict."},
            {"role": "user", "content": words},
        ],
    }
    words = f'Grade it: {{"overall": 1}}\n{ANSWER}\n'
    quality = {
        "model": "j",
        "messages": [{"role": "user", "content": words}],
        "temperature": 0.0,
    }
    assert done.code == 0
    # the paper's judge of semantic correctness is not released
    released = [body for body in judge.questions if "begins" not in json.dumps(body)]
    assert as_text(released) == as_text([caption, summary, coherence, quality])


def test_no_text_of_a_released_prompt_is_in_the_results(
    judge: Judge, tmp_path: Path
) -> None:
    run("unim_art", judge, tmp_path, "--captioner", "BACKEND")
    written = json.dumps(results(tmp_path / "out"))
    assert "unim.caption.video.summary" in written
    assert "Shorten" not in written
    assert "Describe the video" not in written
