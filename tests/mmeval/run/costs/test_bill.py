from mmeval.run.costs.bill import spent_json, spent_words
from mmeval.run.costs.prices import Bill
from mmeval.store.spending import CallTotals, ModelEndpoint

MODEL = Bill(ModelEndpoint("model", "m"), CallTotals(1200, 1100, 84_000, 9_000, 3), 0.5)
JUDGE = Bill(ModelEndpoint("judge", "j"), CallTotals(3, 3, 210, 120), None)
LOCAL = Bill(ModelEndpoint("captioner", "c", local=True), CallTotals(1, 1, 5, 5), 0.0)
CENT, TINY = (
    Bill(ModelEndpoint("model", "m"), CallTotals(1, 1, 0, 0, 1), usd)
    for usd in (0.01, 0.000012)
)


def test_one_line_has_calls_tokens_pictures_and_dollars() -> None:
    def pieces(*bills: Bill) -> list[str]:
        return spent_words(bills).split(", ")

    assert pieces(MODEL) == [
        "calls: 1,200",
        "tokens in: 84,000",
        "out: 9,000",
        "images made: 3",
        "0.50 USD",
    ]
    assert pieces(MODEL, JUDGE)[:3] == [
        "calls: 1,203",
        "tokens in: 84,210",
        "out: 9,120",
    ]
    assert pieces(MODEL, JUDGE)[3:] == ["images made: 3", "0.50 USD without j"]
    assert pieces(JUDGE, LOCAL) == ["calls: 4", "tokens in: 215", "out: 125"]
    assert pieces(CENT) == ["calls: 1", "images made: 1", "0.01 USD"]
    assert pieces(TINY) == ["calls: 1", "images made: 1", "0.000012 USD"]


def test_videos_are_counted_where_some_were_made() -> None:
    paid = Bill(ModelEndpoint("model", "m"), CallTotals(calls=2, videos=2), 0.8)
    assert spent_words([paid]) == "calls: 2, videos made: 2, 0.80 USD"
    assert (spent_json([paid])["videos"], "videos" in spent_json([JUDGE])) == (2, False)


def test_the_results_have_each_role_and_dollars_only_where_every_price_is_known() -> (
    None
):
    assert [
        spent_json(bills)["usd"] for bills in ([MODEL, LOCAL], [MODEL, JUDGE], [])
    ] == [0.5, None, 0]
    counts = {"calls": 3, "input_tokens": 210, "output_tokens": 120, "images": 0}
    found = spent_json([MODEL, JUDGE])
    assert found["calls"] == 1203
    assert found["input_tokens"] == 84_210
    assert found["output_tokens"] == 9_120
    assert found["images"] == 3
    assert [(row["role"], row["usd"]) for row in found["by_role"]] == [
        ("model", 0.5),
        ("judge", None),
    ]
    assert found["by_role"][1] == {"role": "judge", "model": "j", "usd": None, **counts}
