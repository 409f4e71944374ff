from pathlib import Path

import pytest

from mmeval.backend.batch_size import BatchSize
from mmeval.errors import MissingDataError, UsageError
from mmeval.settings import values
from tests.support.task_folder import write_files

NAMED = lambda value: getattr(value, "__qualname__", str(value))  # noqa: E731
JUDGE = ("openai", {"model": "m", "n": 2})


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("bfloat16", "bfloat16"),
        ("8", 8),
        ("010", "010"),
        ("0012345", "0012345"),
        ("12e4567", "12e4567"),
        ("[NaN, 1]", ["NaN", 1]),
        ("1e-3", 0.001),
        ("1.10", 1.1),
        ("true", True),
        ("False", False),
        ("null", None),
        ("no", "no"),
        ("1:30", "1:30"),
        ("2026-01-31", "2026-01-31"),
        ("'5'", "5"),
        ('"a b"', "a b"),
        ("'", "'"),
        ("[1, 2]", [1, 2]),
        ("[a,b]", ["a", "b"]),
        ("[a,b", "[a,b"),
        ('{"a": 1}', {"a": 1}),
        ("nan", "nan"),
        ("", ""),
    ],
)
def test_a_scalar_is_read_without_the_traps_of_old_yaml(written: str, meant: object) -> None:
    found = values.scalar(written)
    assert (found, type(found)) == (meant, type(meant))


@pytest.mark.parametrize(
    ("read", "given", "meant"),
    [
        (values.arguments, "pretrained=a/b,dtype=bf16,n=2", {"pretrained": "a/b", "dtype": "bf16", "n": 2}),
        (values.arguments, "base_url=http://h:1/v1?a=b,model=m", {"base_url": "http://h:1/v1?a=b", "model": "m"}),
        (values.arguments, "stop=['a,b','c'],x=1", {"stop": ["a,b", "c"], "x": 1}),
        (values.arguments, 'until=["\\n", ","]', {"until": ["\n", ","]}),
        (values.arguments, "name=it's,b=2", {"name": "it's", "b": 2}),
        (values.arguments, '{"a": {"b": 1}}', {"a": {"b": 1}}),
        (values.arguments, ["a=1", "b=2,a=3"], {"a": 3, "b": 2}),
        (values.arguments, {"a": 1}, {"a": 1}),
        (values.arguments, "", {}),
        (values.draws, "0", 0),
        (values.draws, 100, 100),
        (values.words, ["a,b", "c"], ("a", "b", "c")),
        (values.words, "a, b c", ("a", "b", "c")),
        (values.words, ("a b c", "a"), ("a", "b", "c")),
        (values.limit, "10", 10),
        (values.limit, 10, 10),
        (values.limit, "0.5", 0.5),
        (values.limit, "3.0", 3),
        (values.limit, "1", 1),
        (values.limit, "none", None),
        (values.tolerated, "0", 0),
        (values.tolerated, "0.05", 0.05),
        (values.tolerated, "3", 3),
        (values.integer(1), "1", 1),
        (values.number(0.5), 0.5, 0.5),
        (values.seed, 7, 7),
        (values.seed, "7,1234,1234,1234", 7),
        (values.seed, "7,7,7,7", 7),
        (values.seed, [7, 1234, 1234, 1234], 7),
        (values.reasoning_tags, "<think>,</think>", ("<think>", "</think>")),
        (values.reasoning_tags, ["[T]", "[/T]"], ("[T]", "[/T]")),
        (values.reasoning_tags, '[["<a>", "</a>"]]', ("<a>", "</a>")),
        (values.reasoning_tags, "none", None),
        (values.roles, ["judge=openai,model=m,n=2", "captioner=empty"], {"judge": JUDGE, "captioner": ("empty", {})}),
        (values.roles, "judge=openai,model=m,n=2;captioner=empty", {"judge": JUDGE, "captioner": ("empty", {})}),
        (values.roles, {"judge": {"backend": "openai", "model": "m", "n": 2}}, {"judge": JUDGE}),
        (
            values.roles,
            ["judge=openai,model='a,b',inputs=[text,image],extra={\"a\": [1, 2]}"],
            {"judge": ("openai", {"model": "a,b", "inputs": ["text", "image"], "extra": {"a": [1, 2]}})},
        ),
        (values.samples, '{"t": [0, 5]}', {"t": (0, 5)}),
        (values.batch_size, "auto", BatchSize()),
        (values.batch_size, "auto:3", BatchSize(growths=3)),
        (values.batch_size, "16", BatchSize(16)),
        (values.batch_size, 1, BatchSize(1)),
    ],
    ids=NAMED,
)
def test_a_value_is_read_from_text_or_from_what_a_file_holds(read: values.Reader, given: object, meant: object) -> None:
    assert read(given) == meant


@pytest.mark.parametrize(
    ("read", "given"),
    [
        (values.draws, "1"),
        (values.draws, "99"),
        (values.draws, -1),
        (values.draws, "many"),
        (values.tolerated, "2.5"),
        *((values.limit, given) for given in ("0", "-1", "1.5", "many", "nan", "inf", True)),
        *((values.seed, given) for given in ("7,8,1234,1234", "1,2", "x", "None", "1.5")),
        *((values.reasoning_tags, given) for given in ("<think>", "a,b,c", "a,a")),
        *((values.roles, [given]) for given in ("judge", "judge=", "=openai", "model=openai")),
        (values.roles, ["judge=a", "judge=b"]),
        *((values.samples, given) for given in ("[1]", '{"t": 1}', '{"t": [-1]}', '{"t": [true]}', "t")),
        (values.integer(1), "0"),
        (values.integer(0), "1.5"),
        (values.integer(0), True),
        (values.number(0), "-0.1"),
        (values.number(0), "nan"),
        (values.switch, "maybe"),
        *((values.batch_size, given) for given in ("auto:", "auto:many", "auto:0", "0")),
        (values.level, "LOUD"),
        (values.switches, '{"metric": 1}'),
        (values.text, ["a"]),
        (values.path, ""),
        (values.arguments, "justaword"),
        *((values.json_object, given) for given in ('{"a": NaN}', '{"a": [1, -Infinity]}', '{"a": {"b": 1e999}}')),
        (values.arguments, '{"a": NaN}'),
        (values.switches, '{"a": NaN}'),
    ],
    ids=NAMED,
)
def test_a_value_of_the_wrong_kind_is_refused(read: values.Reader, given: object) -> None:
    with pytest.raises(UsageError):
        read(given)


def test_a_word_that_is_a_path_stays_whole(tmp_path: Path) -> None:
    file = write_files(tmp_path, {"my task, second.yaml": ""}) / "my task, second.yaml"
    assert values.words([str(file), "a,b"]) == (str(file), "a", "b")


def test_arguments_and_roles_come_from_files_too(tmp_path: Path) -> None:
    write_files(tmp_path, {"model.yaml": "model: m\nheaders: {a: b}\n", "judge.yaml": "backend: openai\nx: {a: [1]}\n"})
    assert values.arguments(str(tmp_path / "model.yaml")) == {"model": "m", "headers": {"a": "b"}}
    meant = ("openai", {"x": {"a": [1]}})
    assert values.roles([f"judge={tmp_path / 'judge.yaml'}"]) == {"judge": meant}
    assert values.backend(str(tmp_path / "judge.yaml")) == meant
    with pytest.raises(MissingDataError, match=r"gone\.yaml"):
        values.arguments(str(tmp_path / "gone.yaml"))


@pytest.mark.parametrize("spelt", ["a: .nan", "a: [.inf]", "a: {b: -.inf}"])
def test_a_file_with_numbers_that_are_not_finite_is_refused(spelt: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="finite"):
        values.arguments(str(write_files(tmp_path, {"args.yaml": spelt}) / "args.yaml"))
