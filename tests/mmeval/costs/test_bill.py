from __future__ import annotations

from mmeval.costs.bill import spent_json, spent_words
from mmeval.costs.prices import Bill
from mmeval.store.spending import Payee, Spent

MODEL = Bill(Payee("model", "m"), Spent(1200, 1100, 84_000, 9_000, 3), 0.5)
JUDGE = Bill(Payee("judge", "j"), Spent(3, 3, 210, 120), None)
LOCAL = Bill(Payee("captioner", "c", local=True), Spent(1, 1, 5, 5), 0.0)
TINY = Bill(Payee("model", "m"), Spent(1, 1, 5, 5), 0.000012)


def test_one_line_says_calls_tokens_pictures_and_dollars() -> None:
    assert spent_words([MODEL]) == "1,200 calls, 84,000 tokens in, 9,000 out, 3 images made, 0.50 USD"


def test_a_sum_that_lacks_a_price_names_whose() -> None:
    assert spent_words([MODEL, JUDGE]).endswith("3 images made, 0.50 USD without j")


def test_without_any_price_no_dollars_are_said_and_local_models_have_none() -> None:
    assert spent_words([JUDGE, LOCAL]) == "4 calls, 215 tokens in, 125 out"


def test_less_than_a_cent_is_not_nothing() -> None:
    assert spent_words([TINY]) == "1 call, 5 tokens in, 5 out, 0.000012 USD"


def test_the_results_have_dollars_only_where_every_price_is_known() -> None:
    assert [spent_json(bills)["usd"] for bills in ([MODEL, LOCAL], [MODEL, JUDGE], [])] == [0.5, None, 0]


def test_the_results_have_each_role_and_model() -> None:
    found = spent_json([MODEL, JUDGE])
    assert (found["calls"], found["input_tokens"]) == (1203, 84_210)
    assert [(row["role"], row["model"], row["usd"], row["calls"]) for row in found["by_role"]] == [
        ("model", "m", 0.5, 1200),
        ("judge", "j", None, 3),
    ]
