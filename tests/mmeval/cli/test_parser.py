import pytest

from mmeval.cli.parser import Parser, add_flags, add_refused
from mmeval.errors import UsageError
from mmeval.settings.flags import FLAGS, REFUSED


def parser() -> Parser:
    made = Parser("mmeval", "a test")
    add_flags(made, FLAGS)
    add_refused(made)
    return made


def test_hyphens_are_as_good_as_underscores() -> None:
    for words in (
        ["--max-connections", "5"],
        ["--max_connections=5"],
        ["--max-connections=5"],
    ):
        assert vars(parser().read(words)) == {"max_connections": "5"}


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ("-s RUN", {"log_samples": "true"}),
        ("--log_samples true RUN", {"log_samples": "true"}),
        ("--log-samples RUN --strict", {"log_samples": "true", "strict": True}),
        ("--fresh --strict false RUN", {"fresh": True, "strict": "false"}),
        ("--skip_metric a,b RUN --skip_metric c", {"skip_metric": ["a,b", "c"]}),
    ],
    ids=str,
)
def test_a_switch_or_a_list_does_not_swallow_the_word_after_it(
    words: str, given: dict[str, object]
) -> None:
    made = Parser("mmeval score", "a test")
    made.add_argument("folder")
    add_flags(made, FLAGS)
    assert vars(made.read(words.split())) == {"folder": "RUN", **given}


def test_the_help_names_every_flag_and_a_refused_one_is_never_offered() -> None:
    text = parser().format_help()
    assert [flag.name for flag in FLAGS if f"--{flag.name}" not in text] == []
    assert [
        name for name in REFUSED if f"--{name} " in text or f"--{name}\n" in text
    ] == []
    with pytest.raises(UsageError) as complaint:
        parser().read(["--num_fewshots", "5"])
    assert "--num_fewshot " not in str(complaint.value)
    with pytest.raises(UsageError, match='did you mean "--limit"'):
        parser().read(["-limit", "5"])


def test_a_flag_that_other_verbs_have_is_explained_where_this_one_has_none() -> None:
    made = parser()
    made.explained = {"--date": "there is none"}
    with pytest.raises(UsageError, match="--date: there is none"):
        made.read(["--date=x"])


def test_of_several_lists_none_is_dropped() -> None:
    words = ["--model_args", "a=1", "b=2", "--model_args", "c=3"]
    assert vars(parser().read(words)) == {"model_args": ["a=1", "b=2", "c=3"]}
