from pathlib import Path

import pytest

from mmeval.backend.batch_size import BatchSize
from mmeval.errors import MissingDataError, UsageError
from mmeval.settings import values


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
        ("[1, 2]", [1, 2]),
        ("[a,b]", ["a", "b"]),
        ('{"a": 1}', {"a": 1}),
        ("nan", "nan"),
        ("", ""),
    ],
)
def test_a_scalar_is_read_without_the_traps_of_old_yaml(written: str, meant: object) -> None:
    assert values.scalar(written) == meant
    assert type(values.scalar(written)) is type(meant)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("pretrained=a/b,dtype=bfloat16,n=2", {"pretrained": "a/b", "dtype": "bfloat16", "n": 2}),
        ("base_url=http://h:1/v1?a=b,model=m", {"base_url": "http://h:1/v1?a=b", "model": "m"}),
        ("stop=['a,b','c'],x=1", {"stop": ["a,b", "c"], "x": 1}),
        ('until=["\\n", ","]', {"until": ["\n", ","]}),
        ("name=it's,b=2", {"name": "it's", "b": 2}),
        ('{"a": {"b": 1}}', {"a": {"b": 1}}),
        (["a=1", "b=2,a=3"], {"a": 3, "b": 2}),
        ({"a": 1}, {"a": 1}),
        ("", {}),
    ],
)
def test_arguments_come_as_pairs_json_or_mappings(given: object, meant: dict[str, object]) -> None:
    assert values.arguments(given) == meant


def test_arguments_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "model.yaml"
    file.write_text("model: m\nheaders: {a: b}\n")

    assert values.arguments(str(file)) == {"model": "m", "headers": {"a": "b"}}


def test_a_file_of_arguments_that_is_absent_is_missing_data(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"gone\.yaml does not exist"):
        values.arguments(str(tmp_path / "gone.yaml"))


@pytest.mark.parametrize("given", ["0", "100", 1000])
def test_resamples_are_none_or_enough(given: object) -> None:
    assert values.draws(given) == int(str(given))


@pytest.mark.parametrize("given", ["1", "99", -1, "many"])
def test_too_few_resamples_are_refused(given: object) -> None:
    with pytest.raises(UsageError, match=r"whole number of (100|0) or more is expected"):
        values.draws(given)


@pytest.mark.parametrize("given", [["a,b", "c"], "a, b c", ["a", "b", "c", "a"], ("a b c",)])
def test_words_are_separated_by_commas_or_blanks_and_kept_once(given: object) -> None:
    assert values.words(given) == ("a", "b", "c")


def test_a_word_that_is_a_path_stays_whole(tmp_path: Path) -> None:
    file = tmp_path / "my task, second.yaml"
    file.touch()

    assert values.words([str(file), "a,b"]) == (str(file), "a", "b")


@pytest.mark.parametrize(
    ("given", "meant"),
    [("10", 10), (10, 10), ("0.5", 0.5), ("3.0", 3), ("1", 1), ("none", None)],
)
def test_a_limit_is_a_count_or_a_share(given: object, meant: object) -> None:
    assert values.limit(given) == meant


def test_what_is_tolerated_is_a_count_or_a_share() -> None:
    assert [values.tolerated(given) for given in ("0", "0.05", "3")] == [0, 0.05, 3]
    with pytest.raises(UsageError, match=r"2\.5 is neither a whole number of trials nor a share below 1"):
        values.tolerated("2.5")


@pytest.mark.parametrize("given", ["0", "-1", "1.5", "many", "nan", "inf", True])
def test_a_limit_that_is_neither_is_refused(given: object) -> None:
    with pytest.raises(UsageError, match=r"share|count"):
        values.limit(given)


@pytest.mark.parametrize(
    ("given", "meant"), [("7", 7), (7, 7), ("7,1234,1234,1234", 7), ("7,7,7,7", 7), ([7, 1234, 1234, 1234], 7)]
)
def test_a_seed_is_one_number_or_the_first_of_four(given: object, meant: int) -> None:
    assert values.seed(given) == meant


@pytest.mark.parametrize("given", ["7,8,1234,1234", "1,2", "x", "None", "1.5"])
def test_seeds_without_a_use_are_refused(given: str) -> None:
    with pytest.raises(UsageError, match=r"seed|whole number"):
        values.seed(given)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("<think>,</think>", ("<think>", "</think>")),
        (["[T]", "[/T]"], ("[T]", "[/T]")),
        ('[["<a>", "</a>"]]', ("<a>", "</a>")),
        ("none", None),
    ],
)
def test_reasoning_tags_are_a_pair_or_none(given: object, meant: object) -> None:
    assert values.reasoning_tags(given) == meant


@pytest.mark.parametrize("given", ["<think>", "a,b,c", "a,a"])
def test_reasoning_tags_that_are_no_pair_are_refused(given: str) -> None:
    with pytest.raises(UsageError, match="opening and a closing tag"):
        values.reasoning_tags(given)


@pytest.mark.parametrize(
    "given",
    [
        ["judge=openai,model=m,n=2", "captioner=empty"],
        "judge=openai,model=m,n=2;captioner=empty",
        {"judge": {"backend": "openai", "model": "m", "n": 2}, "captioner": "empty"},
    ],
    ids=["flags", "variable", "file"],
)
def test_roles_read_alike_from_every_source(given: object) -> None:
    assert values.roles(given) == {"judge": ("openai", {"model": "m", "n": 2}), "captioner": ("empty", {})}


def test_arguments_of_a_role_may_be_nested_and_hold_commas() -> None:
    found = values.roles(["judge=openai,model='a,b',inputs=[text,image],extra={\"a\": [1, 2]}"])

    assert found == {"judge": ("openai", {"model": "a,b", "inputs": ["text", "image"], "extra": {"a": [1, 2]}})}


def test_a_role_may_be_a_file_that_holds_its_backend_and_nested_arguments(tmp_path: Path) -> None:
    file = tmp_path / "judge.yaml"
    file.write_text("backend: openai\nmodel: m\nextra: {a: [1, 2]}\n")

    meant = ("openai", {"model": "m", "extra": {"a": [1, 2]}})
    assert values.roles([f"judge={file}"]) == {"judge": meant}
    assert values.backend(str(file)) == meant


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (["judge"], "NAME=BACKEND"),
        (["judge="], "needs the name of a backend"),
        (["judge=a", "judge=b"], "given twice"),
        (["model=openai"], "--model"),
    ],
)
def test_a_role_that_cannot_be_meant_is_refused(given: list[str], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        values.roles(given)


def test_samples_are_indices_by_task() -> None:
    assert values.samples('{"t": [0, 5]}') == {"t": (0, 5)}


@pytest.mark.parametrize("given", ["[1]", '{"t": 1}', '{"t": [-1]}', '{"t": [true]}', "t"])
def test_samples_of_another_shape_are_refused(given: str) -> None:
    with pytest.raises(UsageError, match=r"JSON object|list of indices"):
        values.samples(given)


@pytest.mark.parametrize(
    ("read", "given"),
    [
        (values.integer(1), "0"),
        (values.integer(0), "1.5"),
        (values.integer(0), True),
        (values.number(0), "-0.1"),
        (values.number(0), "nan"),
        (values.switch, "maybe"),
        (values.batch_size, "auto:"),
        (values.batch_size, "auto:many"),
        (values.batch_size, "auto:0"),
        (values.batch_size, "0"),
        (values.level, "LOUD"),
        (values.switches, '{"metric": 1}'),
        (values.text, ["a"]),
        (values.path, ""),
        (values.arguments, "justaword"),
    ],
)
def test_values_of_the_wrong_kind_are_refused_with_what_is_expected(read: values.Reader, given: object) -> None:
    with pytest.raises(UsageError, match=r"expected|needs|not NAME=VALUE"):
        read(given)


@pytest.mark.parametrize("spelt", ['{"a": NaN}', '{"a": [1, -Infinity]}', '{"a": {"b": 1e999}}'])
@pytest.mark.parametrize("read", [values.json_object, values.arguments, values.switches])
def test_json_with_numbers_that_are_not_finite_is_refused(read: values.Reader, spelt: str) -> None:
    with pytest.raises(UsageError, match="a JSON object is expected"):
        read(spelt)


@pytest.mark.parametrize("spelt", ["a: .nan", "a: [.inf]", "a: {b: -.inf}"])
def test_a_file_with_numbers_that_are_not_finite_is_refused(spelt: str, tmp_path: Path) -> None:
    file = tmp_path / "args.yaml"
    file.write_text(spelt)

    with pytest.raises(UsageError, match="is no plain finite number"):
        values.arguments(str(file))


@pytest.mark.parametrize(
    ("given", "size"),
    [("auto", BatchSize()), ("auto:3", BatchSize(growths=3)), ("16", BatchSize(16)), (16, BatchSize(16))],
)
def test_a_batch_size_is_a_number_or_left_to_the_backend(given: object, size: BatchSize) -> None:
    assert values.batch_size(given) == size
