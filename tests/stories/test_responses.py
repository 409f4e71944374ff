"""Words and pictures in one answer, by the endpoint ``responses``."""

from pathlib import Path

from tests.support.cli import mmeval, results
from tests.support.openai_calls import said, thought, whole
from tests.support.questions import questions, where, write_task
from tests.support.servers import Exchange, WireServer

TURNS = ("Draw a tree.", "Draw its leaf.", "Draw its fruit.")


def conversation(folder: Path, url: str, **arguments: str) -> list[str]:
    """The command that asks three turns, each after the answers before it."""
    turns = [{"role": "user", "content": text} for text in TURNS]
    rows = [{"id": "a", "input": turns, "reference": "oak"}]
    write_task(folder / "tasks", "ask", rows, "protocol: episode\n")
    file = folder / "tasks" / "ask.yaml"
    file.write_text(file.read_text().replace("[text]", "[text, image]"))
    given = {"base_url": url, "model": "m", "endpoint": "responses"}
    words = ",".join(
        f"{name}={value}" for name, value in {**given, **arguments}.items()
    )
    return [*where(folder), "--model", "openai", "--model_args", words]


def test_what_is_kept_for_the_server_is_neither_shown_nor_part_of_the_answer(
    tmp_path: Path,
) -> None:
    item = thought("Hm.", encrypted_content="opaque-0123456789")
    exchange = Exchange("/v1/responses", [whole(item, said("answer 0"))])
    with WireServer(exchange) as server:
        model = f"base_url={server.url},model=m,endpoint=responses"
        asked = [*questions(tmp_path, [0]), "--model", "openai", "--model_args", model]
        done = mmeval(*asked, "--log_samples")
    [row] = results(tmp_path)["mmeval"]["results"]
    assert (done.code, row["value"]) == (0, 1.0), done.err
    [samples] = tmp_path.rglob("samples_*.jsonl")
    assert "opaque" not in samples.read_text() + done.out + done.err
