import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from mmeval.broker.runtime import BackendRuntime
from mmeval.errors import MissingDataError, TaskFileError
from mmeval.model_backends.openai import OpenAIBackend
from mmeval.model_backends.reference import ReferenceBackend
from mmeval.run.costs.prices import Price, Prices, is_billed, line_to_add, load_prices
from mmeval.store.spending import CallTotals
from tests.support.toy import ToyLocal, cast_agent

CHEAP, DEAR = Price(1, 2), Price(10, 20)


def written(folder: Path, text: str) -> Path:
    file = folder / "prices.yaml"
    file.write_text(text)
    return file


def test_a_name_has_its_own_price_or_that_of_its_undated_name_or_of_the_longest_pattern() -> (
    None
):
    prices = Prices(
        {"m": CHEAP, "m-2024-05-13": DEAR, "org/*": CHEAP, "org/other/*": DEAR}
    )
    for date in ("", "-2024-08-06", "-20250514", "-0613", "-latest"):
        assert prices.of_model(f"m{date}") == CHEAP
    others = (
        "m-mini",
        "elsewhere/small",
        "m-2024-05-13",
        "org/other/large",
        "org/small",
    )
    assert [prices.of_model(name) for name in others] == [None, None, DEAR, DEAR, CHEAP]


def test_a_video_has_a_price_of_its_own() -> None:
    price = Price(input=0.0, output=0.0, per_video=0.4)
    assert price.cost(CallTotals(answered=5, videos=3)) == pytest.approx(1.2)


def test_a_cost_is_that_of_tokens_pictures_and_answers_of_servers_alone() -> None:
    price = Price(input=2.0, output=8.0, per_image=0.04, per_call=0.5)
    used = CallTotals(
        calls=5, answered=3, input_tokens=500_000, output_tokens=250_000, images=2
    )
    assert price.cost(used) == pytest.approx(1.0 + 2.0 + 0.08 + 1.5)
    half = CallTotals(
        input_tokens=500_000,
        output_tokens=250_000,
        batched_input_tokens=250_000,
        batched_output_tokens=250_000,
    )
    assert (price.cost(half), replace(price, batch=1.0).cost(half)) == (
        pytest.approx(0.75 + 1.0),
        pytest.approx(3.0),
    )
    server = OpenAIBackend(model="m", base_url="http://localhost:1/v1")
    assert [
        is_billed(backend)
        for backend in (server, ToyLocal(), cast_agent(), ReferenceBackend())
    ] == [True, False, False, False]


@pytest.mark.parametrize(
    "host", ["localhost", "gpu1:8000", "10.0.0.5:8000", "[::1]:8000"]
)
def test_the_price_of_a_server_without_a_domain_is_unknown_without_opening_the_list(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    assert Prices({"m": DEAR}).of_model("gpt-4o", f"http://{host}/v1") is None
    assert Prices({"m": DEAR}).of_model("m", f"http://{host}/v1") == DEAR


def test_the_users_file_lies_over_the_list_of_a_servers_provider_and_what_neither_knows_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    found = load_prices(
        written(
            tmp_path, "models:\n  gpt-4o*: {input: 1, output: 2, as_of: 2026-01-01}\n"
        )
    )
    assert found.of_model("gpt-4o-2024-05-13") == Price(1, 2, source="as of 2026-01-01")
    source = f"genai-prices {version('genai-prices')}"
    listed = {
        "o3": (2, 8),
        "gemini-2.5-pro": (1.25, 10),
        "claude-opus-4-1-20250805": (15, 75),
        "o4-mini-latest": (1.1, 4.4),
    }
    for name, (given, made) in listed.items():
        assert found.of_model(name) == Price(given, made, source=source)
    for model, address, listed_there in (
        ("o3", "https://api.openai.com/v1", True),
        ("o3", "http://localhost:8000/v1", False),
        ("gpt-4o", "http://localhost:8000/v1", True),
    ):
        asked = BackendRuntime(
            OpenAIBackend(model=model, base_url=address), limit=1, retries=0, live=int
        )
        endpoint = asked.endpoint("model")
        assert endpoint is not None
        assert (found.of(endpoint) is not None) is listed_there, address
    painter = found.of_model("gemini-2.5-flash-image")
    assert painter is not None and painter.output == 30, (
        "a picture's tokens, not those of words"
    )
    assert [found.of_model(name) for name in ("whisper-1", "gpt-4o", "org/mine")] == [
        None,
        found.models["gpt-4o*"],
        None,
    ]
    with pytest.raises(MissingDataError, match=r"none\.yaml"):
        load_prices(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("models:\n  m: {input: 1, output: 2, imput: 3}\n", 2, '"input"'),
        ("modles:\n  m: {input: 1, output: 2}\n", 1, '"models"'),
        ("models:\n  m: {input: 1}\n", 2, "output"),
        ("models:\n  m:\n    input: -1\n    output: 2\n", 3, "-1"),
        ("models:\n  m:\n    input: true\n    output: 2\n", 3, "True"),
        ("models:\n  m: {input: 1, output: 2, as_of: soon}\n", 2, "day"),
        ("models:\n  m: 3\n", 2, "price"),
        ("models: [m]\n", 1, "names"),
    ],
)
def test_what_no_file_of_prices_can_hold_is_refused_by_line(
    text: str, line: int, word: str, tmp_path: Path
) -> None:
    with pytest.raises(TaskFileError) as refused:
        load_prices(written(tmp_path, text))
    assert (refused.value.line, word in str(refused.value)) == (line, True)


def test_the_line_to_add_is_one_that_the_file_takes(tmp_path: Path) -> None:
    for name in ("m", "org/m-1.5", "8b", "a: b", "*", "yes/no"):
        found = load_prices(written(tmp_path, f"models:\n  {line_to_add(name)}\n"))
        assert found.of_model(name) == Price(0, 0)
