from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mmeval.backend.batch_size import BatchSize
from mmeval.errors import MissingDataError, UsageError
from mmeval.settings import values
from tests.support.task_folder import write_files

Pairs = Sequence[tuple[Any, Any]]
JUDGE = ("openai", {"model": "m", "n": 2})
QUOTED = ["judge=openai,model='a,b',inputs=[text,image],extra={\"a\": [1, 2]}"]
NESTED = {
    "judge": (
        "openai",
        {"model": "a,b", "inputs": ["text", "image"], "extra": {"a": [1, 2]}},
    )
}
TWO = "judge=openai,model=m,n=2;captioner=empty"
URL = "http://h:1/v1?a=b"


def named(value: object) -> str:
    return getattr(value, "__qualname__", "")


def test_a_scalar_is_read_without_the_traps_of_old_yaml() -> None:
    meanings = {
        "8": 8,
        "1e-3": 0.001,
        "False": False,
        "null": None,
        "'5'": "5",
        '"a b"': "a b",
        "[1, 2]": [1, 2],
        "[NaN, b]": ["NaN", "b"],
        '{"a": 1}': {"a": 1},
        "{a: 1, 'b': [x, y]}": {"a": 1, "b": ["x", "y"]},
    }
    for text, expected in meanings.items():
        value = values.scalar(text)
        assert (value, type(value)) == (expected, type(expected))


@pytest.mark.parametrize(
    "text",
    [
        "bfloat16",
        "0012345",
        "12e4567",
        "no",
        "1:30",
        "nan",
        "",
        "'",
        "[a",
        "{a: 1",
        "{x:.2f}",
        '{{"reason": "so", "met": "yes"}}',
    ],
)
def test_what_is_no_scalar_is_the_text_itself(text: str) -> None:
    assert values.scalar(text) == text


@pytest.mark.parametrize(
    ("read", "pairs"),
    [
        (
            values.arguments,
            [
                ("", {}),
                ({"a": 1}, {"a": 1}),
                (f"url={URL},n=2", {"url": URL, "n": 2}),
                (["a=1", "b=2,a=3"], {"a": 3, "b": 2}),
                ("s=['a,b','c'],n=it's", {"s": ["a,b", "c"], "n": "it's"}),
                ('until=["\\n", ","]', {"until": ["\n", ","]}),
                ('{"a": {"b": 1}}', {"a": {"b": 1}}),
                (
                    ["media_root=/a=/b,media_root=/c=/d", "media_root=[/e=/f]"],
                    {"media_root": ["/a=/b", "/c=/d", "/e=/f"]},
                ),
            ],
        ),
        (values.draws, [("0", 0), (100, 100)]),
        (
            values.words,
            [(["a,b", "c"], ("a", "b", "c")), ("a, b c a", ("a", "b", "c"))],
        ),
        (
            values.limit,
            [(10, 10), ("0.5", 0.5), ("3.0", 3), ("1", 1), ("none", None)],
        ),
        (values.tolerated, [("0", 0), ("0.05", 0.05), ("3", 3)]),
        (values.integer(1), [("1", 1), ("9" * 401, int("9" * 401))]),
        (values.number, [(0.5, 0.5)]),
        (
            values.seed,
            [(7, 7), ("7,1234,1234,1234", 7), ([7, 7, 7, 7], 7)],
        ),
        (
            values.reasoning_tags,
            [
                ("<a>,</a>", ("<a>", "</a>")),
                (["[T]", "[/T]"], ("[T]", "[/T]")),
                ("none", None),
                ('[["<a>", "</a>"]]', ("<a>", "</a>")),
            ],
        ),
        (
            values.roles,
            [
                (TWO, {"judge": JUDGE, "captioner": ("empty", {})}),
                (QUOTED, NESTED),
                (
                    {"judge": {"backend": "openai", "model": "m", "n": 2}},
                    {"judge": JUDGE},
                ),
            ],
        ),
        (values.samples, [('{"t": [0, 5]}', {"t": (0, 5)})]),
        (
            values.batch_size,
            [
                ("auto", BatchSize()),
                ("auto:3", BatchSize(growths=3)),
                (1, BatchSize(1)),
            ],
        ),
    ],
    ids=named,
)
def test_a_value_is_read_from_text_or_from_what_a_file_holds(
    read: values.Reader, pairs: Pairs
) -> None:
    assert [read(value) for value, _ in pairs] == [expected for _, expected in pairs]


@pytest.mark.parametrize(
    ("read", "wrong"),
    [
        (values.draws, ["1", "99", -1, "many"]),
        (values.tolerated, ["2.5"]),
        (values.limit, ["0", "1.5", "many", "nan", True]),
        (values.seed, ["7,8,1234,1234", "1,2", "x", "None", "1.5"]),
        (values.reasoning_tags, ["<think>", "a,b,c", "a,a"]),
        (
            values.roles,
            [
                ["judge"],
                ["judge="],
                ["=openai"],
                ["model=openai"],
                ["judge=a", "judge=b"],
            ],
        ),
        (values.samples, ["[1]", '{"t": 1}', '{"t": [-1]}', '{"t": [true]}', "t"]),
        (values.integer(1), ["0", "1.5", True]),
        (values.number, ["-0.1", "nan"]),
        (values.switch, ["maybe"]),
        (values.batch_size, ["auto:", "auto:many", "auto:0", "0"]),
        (values.level, ["LOUD"]),
        (values.switches, ['{"metric": 1}', '{"a": NaN}']),
        (values.text, [["a"], True]),
        (values.path, [""]),
        (values.arguments, ["justaword", '{"a": NaN}']),
        (
            values.json_object,
            ['{"a": NaN}', '{"a": [1, -Infinity]}', '{"a": {"b": 1e999}}'],
        ),
    ],
    ids=named,
)
def test_a_value_of_the_wrong_kind_is_refused(
    read: values.Reader, wrong: Sequence[Any]
) -> None:
    for value in wrong:
        with pytest.raises(UsageError):
            read(value)


def test_arguments_and_roles_come_from_files_too_and_a_word_that_is_a_path_stays_whole(
    tmp_path: Path,
) -> None:
    odd = {
        f"odd{i}.yaml": text
        for i, text in enumerate(("a: .nan", "a: [.inf]", "a: {b: -.inf}"))
    }
    write_files(
        tmp_path,
        {
            "m.yaml": "model: m\nheaders: {a: b}\n",
            "j.yaml": "backend: openai\nx: {a: [1]}\n",
            **odd,
        },
    )
    assert values.arguments(str(tmp_path / "m.yaml")) == {
        "model": "m",
        "headers": {"a": "b"},
    }
    assert values.roles([f"judge={tmp_path / 'j.yaml'}"]) == {
        "judge": ("openai", {"x": {"a": [1]}})
    }
    assert values.backend(str(tmp_path / "j.yaml")) == ("openai", {"x": {"a": [1]}})
    with pytest.raises(MissingDataError, match=r"gone\.yaml"):
        values.arguments(str(tmp_path / "gone.yaml"))
    for name in odd:
        with pytest.raises(UsageError, match="finite"):
            values.arguments(str(tmp_path / name))
    file = write_files(tmp_path, {"my task, second.yaml": ""}) / "my task, second.yaml"
    assert values.words([str(file), "a,b"]) == (str(file), "a", "b")
