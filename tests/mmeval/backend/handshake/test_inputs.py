import random
from dataclasses import replace

import pytest

from mmeval.backend.handshake import inputs, media
from mmeval.backend.handshake.inputs import (
    AT_ONCE,
    MANY,
    ORDER,
    TAKES,
    Observation,
    colours_in,
    compared,
)
from mmeval.backend.probe import Verdict
from mmeval.media.parts import PartKind
from mmeval.program.calls import Program
from mmeval.records.request import Request
from mmeval.records.response import ErrorKind, FinishReason, Response
from tests.support.able_server import beep_counts, film_colours, stripe_colours
from tests.support.handshakes import MODEL, counted, failed, in_turn, outcome, verdicts
from tests.support.toy import reply

PROSE = reply("I see a cat on a table.")


@pytest.fixture
def draw() -> random.Random:
    return random.Random(7)


def two_pictures(draw: random.Random) -> Program[Observation]:
    return inputs.pictures(MODEL, draw, most=None)


def colours_of_pictures(request: Request) -> list[str]:
    """The colours of each picture, as a model that reads them writes them."""
    return [
        ", ".join(stripe_colours(part.media))
        for part in request.messages[-1].content.parts
        if part.media is not None
    ]


def reads_colours(request: Request) -> Response:
    return reply("; ".join(colours_of_pictures(request)))


def reads_colours_backwards(request: Request) -> Response:
    return reply("; ".join(colours_of_pictures(request)[::-1]))


def refuses_two(request: Request) -> Response:
    if len(colours_of_pictures(request)) > 1:
        return failed()
    return reads_colours(request)


# Pictures


def test_a_model_that_names_the_colours_sees(draw: random.Random) -> None:
    observation, _ = outcome(two_pictures(draw), reads_colours)

    assert observation.outcome == "right"


def test_a_model_that_reads_the_words_sees() -> None:
    first, second = inputs._two_pictures(random.Random(7))
    spelled = reply(f"1: {'-'.join(first.word.lower())} 2: {second.word}")

    observation, _ = outcome(two_pictures(random.Random(7)), in_turn(spelled))

    assert observation.outcome == "right"


def test_a_model_that_answers_without_the_pictures_does_not_see(
    draw: random.Random,
) -> None:
    observation, _ = outcome(two_pictures(draw), in_turn(PROSE))

    assert observation.outcome == "wrong"


def test_a_guess_is_right_less_than_once_in_a_thousand_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # a guess comes from no picture, and painting 4,000 pictures takes 20 s
    unpainted = media.picture(["red"])
    monkeypatch.setattr(media, "picture", lambda *_: unpainted)
    right = 0
    for seed in range(2000):
        guess = in_turn(reply("red, blue; green, yellow"))
        observation, _ = outcome(two_pictures(random.Random(seed)), guess)
        right += observation.outcome == "right"

    # the expected number is 2,000 x 2 / 3,080: 1.3
    assert right <= 2


def test_two_pictures_never_have_the_same_colours() -> None:
    for seed in range(500):
        first, second = inputs._two_pictures(random.Random(seed))

        assert first.colours != second.colours


def test_pictures_named_in_their_order_are_told_apart(draw: random.Random) -> None:
    observation, _ = outcome(two_pictures(draw), reads_colours)

    assert verdicts(observation.others) == {ORDER: "yes"}


def test_pictures_in_another_order_were_swapped(draw: random.Random) -> None:
    observation, _ = outcome(two_pictures(draw), reads_colours_backwards)

    assert observation.outcome == "right"
    assert verdicts(observation.others) == {ORDER: "no"}


def test_a_model_that_names_one_of_two_pictures_does_not_take_both() -> None:
    first, _ = inputs._two_pictures(random.Random(7))
    answer = reply(f"{first.word}, {', '.join(first.colours)}")

    observation, _ = outcome(two_pictures(random.Random(7)), in_turn(answer))

    assert observation.outcome == "right"
    assert verdicts(observation.others) == {AT_ONCE: "no"}


def test_a_model_that_misreads_one_of_two_pictures_may_take_both() -> None:
    first, _ = inputs._two_pictures(random.Random(7))
    answer = reply(f"{first.word} {', '.join(first.colours)}; PLATE black, pink")

    observation, _ = outcome(two_pictures(random.Random(7)), in_turn(answer))

    assert observation.outcome == "right"
    assert verdicts(observation.others) == {AT_ONCE: "doubtful"}


def test_a_server_that_refuses_two_pictures_is_asked_about_one(
    draw: random.Random,
) -> None:
    observation, requests = outcome(two_pictures(draw), refuses_two)

    assert [len(colours_of_pictures(request)) for request in requests] == [2, 1]
    assert observation.outcome == "right"
    assert verdicts(observation.others) == {AT_ONCE: "no"}


def test_a_server_that_refuses_one_picture_too_takes_none(draw: random.Random) -> None:
    observation, _ = outcome(two_pictures(draw), in_turn(failed(), failed()))

    assert observation.outcome == "refused"
    assert observation.others == ()


def test_a_backend_that_takes_one_picture_is_shown_one(draw: random.Random) -> None:
    program = inputs.pictures(MODEL, draw, most=1)

    observation, requests = outcome(program, reads_colours)

    assert [len(colours_of_pictures(request)) for request in requests] == [1]
    assert observation.outcome == "right"


def test_a_single_picture_has_enough_colours_against_guesses(
    draw: random.Random,
) -> None:
    program = inputs.pictures(MODEL, draw, most=1)

    _, (request,) = outcome(program, reads_colours)

    (named,) = colours_of_pictures(request)
    assert len(named.split(", ")) == 4


def test_eight_pictures_in_their_order_are_taken(draw: random.Random) -> None:
    probes, _ = outcome(inputs.many_pictures(MODEL, draw), reads_colours)

    assert verdicts(probes) == {MANY: "yes"}


@pytest.mark.parametrize(
    ("response", "verdict"),
    [
        pytest.param(reply("red, blue"), "doubtful", id="too few colours"),
        pytest.param(failed(), "no", id="refused"),
        pytest.param(failed("timeout"), "unknown", id="too slow"),
    ],
)
def test_eight_pictures_without_a_right_answer(
    draw: random.Random, response: Response, verdict: Verdict
) -> None:
    probes, _ = outcome(inputs.many_pictures(MODEL, draw), in_turn(response))

    assert verdicts(probes) == {MANY: verdict}


# Sounds, pages and films


def test_a_model_that_counts_the_beeps_hears(draw: random.Random) -> None:
    def counts_beeps(request: Request) -> Response:
        medium = request.messages[-1].content.parts[0].media
        assert medium is not None
        return reply(" ".join(map(str, beep_counts(medium))))

    observation, _ = outcome(inputs.beeps(MODEL, draw), counts_beeps)

    assert (observation.kind, observation.outcome) == ("audio", "right")


def test_a_model_that_reads_the_word_reads_documents() -> None:
    word = media.word(random.Random(7))
    program = inputs.page(MODEL, random.Random(7))

    observation, _ = outcome(program, in_turn(reply(f"The word is {word}.")))

    assert (observation.kind, observation.outcome) == ("document", "right")


def test_a_model_that_names_the_colours_of_a_film_watches_it(
    draw: random.Random,
) -> None:
    def watches(request: Request) -> Response:
        medium = request.messages[-1].content.parts[0].media
        assert medium is not None
        return reply(" then ".join(film_colours(medium)))

    observation, _ = outcome(inputs.film(MODEL, draw), watches)

    assert (observation.kind, observation.outcome) == ("video", "right")


@pytest.mark.parametrize("kind", sorted(inputs.QUESTIONS))
def test_prose_is_wrong_for_each_kind(kind: PartKind, draw: random.Random) -> None:
    observation, _ = outcome(inputs.QUESTIONS[kind](MODEL, draw), in_turn(PROSE))

    assert observation.outcome == "wrong"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("bad_request", "refused"),
        ("unsupported", "refused"),
        ("bad_media", "refused"),
        ("timeout", "failed"),
        ("refused", "failed"),
        ("over_limit", "failed"),
        ("too_long", "failed"),
    ],
)
def test_an_error_of_the_request_alone_denies_a_kind(
    error: ErrorKind, expected: str, draw: random.Random
) -> None:
    observation, _ = outcome(inputs.beeps(MODEL, draw), in_turn(failed(error)))

    assert observation.outcome == expected


# Prompt tokens


def wrong(kind: PartKind, tokens: int, media: int = 1) -> Observation:
    return Observation(kind, "wrong", "it answered prose", tokens, media)


@pytest.mark.parametrize("kind", sorted(TAKES))
def test_a_wrong_answer_without_further_tokens_denies_a_kind(kind: PartKind) -> None:
    probe = compared(wrong(kind, tokens=80), tokens_without=80)

    assert probe.verdict == "no"


@pytest.mark.parametrize("kind", sorted(TAKES))
def test_a_wrong_answer_with_further_tokens_is_doubtful(kind: PartKind) -> None:
    probe = compared(wrong(kind, tokens=200), tokens_without=80)

    assert probe.verdict == "doubtful"


def test_the_placeholders_of_two_pictures_are_not_their_content() -> None:
    probe = compared(wrong("image", tokens=90, media=2), tokens_without=80)

    assert probe.verdict == "no"


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [("image", "no"), ("document", "no"), ("audio", "doubtful"), ("video", "doubtful")],
)
def test_without_tokens_a_wrong_answer_denies_what_small_models_read(
    kind: PartKind, verdict: Verdict
) -> None:
    probe = compared(wrong(kind, tokens=0), tokens_without=0)

    assert probe.verdict == verdict


def test_a_right_answer_needs_no_tokens() -> None:
    observation = Observation("image", "right", "it named both", tokens=80)

    assert compared(observation, tokens_without=80).verdict == "yes"


def test_a_refused_kind_is_denied() -> None:
    observation = Observation("image", "refused", "HTTP 400")

    assert compared(observation, tokens_without=80).verdict == "no"


def test_a_question_that_failed_leaves_a_kind_unknown() -> None:
    observation = Observation("image", "failed", "timeout")

    assert compared(observation, tokens_without=80).verdict == "unknown"


def test_the_question_without_media_is_the_longest() -> None:
    questions = (inputs._PICTURES, inputs._BEEPS, inputs._PAGE, inputs._FILM)

    assert all(len(inputs.WITHOUT_MEDIA) >= len(text) for text in questions)


@pytest.mark.parametrize(
    ("text", "colours"),
    [
        ("Red, then BLUE.", ["red", "blue"]),
        ("1: red-green 2: pink", ["red", "green", "pink"]),
        ("The colored stripes are rendered in blue.", ["blue"]),
        ("", []),
    ],
)
def test_names_of_colours_are_whole_words(text: str, colours: list[str]) -> None:
    assert colours_in(text) == colours


@pytest.mark.parametrize("reason", ["length", "refused"])
def test_an_answer_that_ended_early_denies_nothing(
    reason: FinishReason, draw: random.Random
) -> None:
    cut_off = replace(reply("Let me think"), finish_reason=reason)

    observation, _ = outcome(two_pictures(draw), in_turn(cut_off))

    assert compared(observation, 0).verdict == "unknown"


def test_prompt_tokens_decide_about_an_answer_that_was_cut_off(
    draw: random.Random,
) -> None:
    cut_off = replace(counted("It is a", 70), finish_reason="length")

    observation, _ = outcome(two_pictures(draw), in_turn(cut_off))

    assert compared(observation, 70).verdict == "no"
