import json
from collections.abc import Callable
from typing import Any

import pytest

from mmeval.metric.judge.json_reply import ReplyError
from mmeval.tasks.isg.graph.stages import (
    Structure,
    read_block_questions,
    read_image_questions,
    read_relations,
    read_structure,
    read_tuples,
)

T1, I1, I2, Q1 = "<gen_text1>", "<gen_img1>", "<gen_img2>", "<query_img1>"
STRUCTURE = Structure((Q1, "<query_text1>"), (T1, I1, I2))
TUPLES = [["entity", "lamp", I1], ["entity", "lamp", I2]]
PAIR = {"subject": T1, "object": I1, "relation": "describes", "Question": "Does it?"}


def structure(*answer: str, query: tuple[str, ...] = STRUCTURE.query) -> str:
    return json.dumps({"Query": query, "Answer": answer})


def question(number: Any, *parents: Any, image: str = I1) -> dict[str, Any]:
    return {
        "image": image,
        "Question": "Is it?",
        "id": number,
        "Preliminary": [*parents],
    }


def questions(*rows: Any) -> str:
    return json.dumps({"questions": rows})


def fault(read: Callable[..., Any], text: str, *given: Any) -> str:
    with pytest.raises(ReplyError) as raised:
        read(text, *given)
    return str(raised.value)


@pytest.mark.parametrize(
    ("reply", "named"),
    [
        (structure(T1, I2), I2),
        (structure(T1, "<gen_text2>"), "<gen_text2>"),
        (structure(T1, "a picture"), "a picture"),
        (structure(T1, query=(Q1,)), "Query"),
        (structure(), "Answer"),
        (json.dumps({"Query": STRUCTURE.query, "Answer": [1]}), "Answer"),
        ('{"Query": [', "JSON"),
        ('{"structure": {}, "block_tuple": {}}', "--protocol single"),
        ("Four pictures.", "JSON"),
    ],
)
def test_a_structure_with_a_fault_is_not_taken(reply: str, named: str) -> None:
    assert named in fault(read_structure, reply, STRUCTURE.query)


def test_a_structure_is_read_with_thoughts_and_fences() -> None:
    reply = (
        "Let me see.\n```json\n"
        f"{json.dumps({'Thought': 'x', **json.loads(structure(I1, T1, I2))})}\n```"
    )
    assert read_structure(reply, STRUCTURE.query) == Structure(
        STRUCTURE.query, (I1, T1, I2)
    )


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ([T1, "<gen_img7>", "describes"], "<gen_img7>"),
        ([T1, "a lamp", "describes"], "a lamp"),
        ([Q1, "<query_text1>", "shows"], Q1),
        ([T1, I1], T1),
        ([T1, I1, ""], "texts"),
        ("describes", "texts"),
    ],
)
def test_a_relation_with_a_fault_is_not_taken(row: Any, named: str) -> None:
    assert named in fault(read_relations, json.dumps({"relation": [row]}), STRUCTURE)


def test_relations_may_be_about_all_or_none_and_never_twice() -> None:
    rows = [[T1, "<all>", "sums up"], [I2, Q1, "is a drawing of"]]
    assert read_relations(json.dumps({"relation": rows}), STRUCTURE) == rows
    assert read_relations('{"relation": []}', STRUCTURE) == []
    assert "twice" in fault(
        read_relations, json.dumps({"relation": [rows[0], rows[0]]}), STRUCTURE
    )


def test_a_question_about_blocks_needs_all_its_pieces() -> None:
    assert read_block_questions(
        questions({**PAIR, "more": 1}), [[T1, I1, "describes"]]
    ) == [PAIR]
    for changed in ({"Question": " "}, {"subject": "<gen_text9>"}, {"relation": None}):
        assert fault(
            read_block_questions,
            questions({**PAIR, **changed}),
            [[T1, I1, "describes"]],
        )
    assert fault(read_block_questions, questions(PAIR, PAIR), [[T1, I1, "describes"]])
    assert fault(read_block_questions, questions(), [[T1, I1, "describes"]])


def test_an_entity_that_only_an_attribute_or_a_relation_names_is_added() -> None:
    rows = [
        ["attribute", "red", "barrier_gate", I1],
        ["entity", "Barrier Gate", I1],
        ["relation", "on", "cat", "mat", I2],
    ]
    assert read_tuples(json.dumps({"tuple": rows}), STRUCTURE) == [
        *rows[:2],
        ["entity", "cat", I2],
        ["entity", "mat", I2],
        rows[2],
    ]


@pytest.mark.parametrize(
    "row",
    [
        ["entity", "lamp", "<gen_img9>"],
        ["entity", "lamp", T1],
        ["entity", I1],
        ["colour", "red", I1],
        [],
        ["entity", 3, I1],
    ],
)
def test_a_tuple_with_a_fault_is_not_taken(row: Any) -> None:
    assert fault(read_tuples, json.dumps({"tuple": [row]}), STRUCTURE)


def test_the_same_tuple_in_another_spelling_is_not_taken() -> None:
    rows = [["entity", "barrier_gate", I1], ["entity", "Barrier gate", I1]]
    assert "twice" in fault(read_tuples, json.dumps({"tuple": rows}), STRUCTURE)


@pytest.mark.parametrize(
    "rows",
    [
        [question(0), question(0)],
        [question(0, 0)],
        [question(0), question(1, 7)],
        [question(0), question(1, 0, image=I2)],
        [question(0, 1), question(1, 0)],
        [question(None)],
        [question(True)],
        [{**question(0), "Preliminary": [[0]]}],
        [{**question(0), "Preliminary": "none"}],
        [question(0, image="<gen_img9>")],
        [{**question(0), "Question": ""}],
        ["Is it?"],
        [],
    ],
    ids=[
        "one id twice",
        "itself",
        "unknown",
        "another picture",
        "circle",
        "no id",
        "true",
        "list",
        "text",
        "no picture",
        "no words",
        "no object",
        "none",
    ],
)
def test_questions_about_pictures_with_a_fault_are_not_taken(rows: list[Any]) -> None:
    assert fault(read_image_questions, questions(*rows), TUPLES)


def test_questions_about_pictures_keep_their_parents() -> None:
    rows = [question(0), question(1, 0), question("a", 1, 0), question(3, image=I2)]
    bare = {key: value for key, value in question(4).items() if key != "Preliminary"}
    assert read_image_questions(questions(*rows, bare), TUPLES) == [*rows, question(4)]


def test_a_chain_of_two_thousand_questions_is_read() -> None:
    rows = [question(n, *([n - 1] if n else [])) for n in range(2000)]
    assert len(read_image_questions(questions(*rows), TUPLES)) == 2000
