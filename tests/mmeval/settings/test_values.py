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
    scalars = [
        ("8", 8),
        ("1e-3", 0.001),
        ("1.10", 1.1),
        ("true", True),
        ("False", False),
        ("null", None),
        ("'5'", "5"),
    ]
    lists = [
        ("[1, 2]", [1, 2]),
        ("[a,b]", ["a", "b"]),
        ("[NaN, 1]", ["NaN", 1]),
        ('{"a": 1}', {"a": 1}),
    ]
    mappings = [
        ("{a: 1, 'b': [x, y]}", {"a": 1, "b": ["x", "y"]}),
        ("{x:.2f}", "{x:.2f}"),
        ("{text}", "{text}"),
    ]
    mappings += [(text := '{{"reason": "so", "met": "yes"}}', text), ("{a: 1", "{a: 1")]
    texts = (
        "bfloat16",
        "010",
        "0012345",
        "12e4567",
        "no",
        "1:30",
        "2026-01-31",
        "nan",
        "",
        "'",
        "[a",
    )
    for written, meant in [
        *scalars,
        *lists,
        *mappings,
        ('"a b"', "a b"),
        *zip(texts, texts, strict=True),
    ]:
        assert (values.scalar(written), type(values.scalar(written))) == (
            meant,
            type(meant),
        )


@pytest.mark.parametrize(
    ("read", "pairs"),
    [
        (
            values.arguments,
            [
                ("a=b/c,t=bf16,n=2", {"a": "b/c", "t": "bf16", "n": 2}),
                ("", {}),
                ({"a": 1}, {"a": 1}),
            ],
        ),
        (
            values.arguments,
            [
                (f"url={URL},m=m", {"url": URL, "m": "m"}),
                (["a=1", "b=2,a=3"], {"a": 3, "b": 2}),
            ],
        ),
        (
            values.arguments,
            [
                ("s=['a,b','c'],x=1", {"s": ["a,b", "c"], "x": 1}),
                ("n=it's,b=2", {"n": "it's", "b": 2}),
            ],
        ),
        (
            values.arguments,
            [
                ('until=["\\n", ","]', {"until": ["\n", ","]}),
                ('{"a": {"b": 1}}', {"a": {"b": 1}}),
            ],
        ),
        (
            values.arguments,
            [
                ("a=1,a=2", {"a": 2}),
                ("media_root=/a=/b", {"media_root": "/a=/b"}),
                (
                    ["media_root=/a=/b,media_root=/c=/d", "media_root=[/e=/f]"],
                    {"media_root": ["/a=/b", "/c=/d", "/e=/f"]},
                ),
            ],
        ),
        (values.draws, [("0", 0), (100, 100)]),
        (
            values.words,
            [
                (given, ("a", "b", "c"))
                for given in (["a,b", "c"], "a, b c", ("a b c", "a"))
            ],
        ),
        (
            values.limit,
            [("10", 10), (10, 10), ("0.5", 0.5), ("3.0", 3), ("1", 1), ("none", None)],
        ),
        (values.tolerated, [("0", 0), ("0.05", 0.05), ("3", 3)]),
        (values.integer(1), [("1", 1)]),
        (values.number, [(0.5, 0.5)]),
        (
            values.seed,
            [
                (given, 7)
                for given in (7, "7,1234,1234,1234", "7,7,7,7", [7, 1234, 1234, 1234])
            ],
        ),
        (
            values.reasoning_tags,
            [
                ("<a>,</a>", ("<a>", "</a>")),
                (["[T]", "[/T]"], ("[T]", "[/T]")),
                ("none", None),
            ],
        ),
        (values.reasoning_tags, [('[["<a>", "</a>"]]', ("<a>", "</a>"))]),
        (
            values.roles,
            [
                (given, {"judge": JUDGE, "captioner": ("empty", {})})
                for given in (TWO, TWO.split(";"))
            ],
        ),
        (
            values.roles,
            [
                (
                    {"judge": {"backend": "openai", "model": "m", "n": 2}},
                    {"judge": JUDGE},
                ),
                (QUOTED, NESTED),
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
    assert [read(given) for given, _ in pairs] == [meant for _, meant in pairs]


@pytest.mark.parametrize(
    ("read", "wrong"),
    [
        (values.draws, ["1", "99", -1, "many"]),
        (values.tolerated, ["2.5"]),
        (values.limit, ["0", "-1", "1.5", "many", "nan", "inf", True]),
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
    for given in wrong:
        with pytest.raises(UsageError):
            read(given)


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
