"""Handshakes with servers: what is found out before a question is asked, over real
sockets."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mmeval.backend.handshake.inputs import AT_ONCE, MANY, ORDER, TAKES
from mmeval.backend.handshake.media import picture
from mmeval.backend.handshake.outputs import JSON, SEED, STOP, SYSTEM
from mmeval.backend.probe import Verdict
from tests.support.able_server import Abilities, AbleServer
from tests.support.cli import (
    QUIET,
    Ended,
    environment,
    mmeval,
    results,
    run_folder,
    share_scans,
)
from tests.support.task_folder import write_rows

ALL_MEDIA = "inputs=text+image+audio+document+video"
SIPU = ("--tasks", "mme_unify_sipu", "--data", "bundled")
AWAY = "http://127.0.0.1:9/v1"
BLIND = Abilities(drops_media=True)
PROSE = Abilities(schema_fields=(), json_mode=False, prose="Certainly! Lovely.")
GREETINGS = 60
JUDGED = """\
task: greet
dataset_path: data
metric_list:
  - metric: judge_grade
    criterion: How warm is the greeting?
    levels: {"1": cold, "3": polite, "5": warm}
  - metric: judge_yes_no
    question: Is it a greeting?
metadata: {version: 1}
"""
PICTURED = """\
task: pictured
dataset_path: data
input_modalities: [text, image]
metric_list:
  - metric: exact_match
metadata: {version: 1}
"""
DRAWN = """\
task: drawn
dataset_path: data
output_modalities: [text, image]
metric_list:
  - metric: rubric_judge
    criteria: rubric
metadata: {version: 1}
"""


@dataclass
class Place:
    """A folder for runs, with a cache of handshakes of its own."""

    folder: Path

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    def mmeval(self, *words: str | Path, **variables: str) -> Ended:
        cache = str(self.folder / "cache")
        env = environment(
            **{"MMEVAL_PROBE": "true", "MMEVAL_CACHE_DIR": cache, **variables}
        )
        return mmeval(*words, env=env)

    def run(self, *words: str | Path) -> Ended:
        return self.mmeval("run", *words, *QUIET, "--output_path", self.runs)

    def check(self, *words: str | Path) -> Mapping[str, Any]:
        """The document of a check."""
        ended = self.mmeval("check", *words, "--json")
        document: dict[str, Any] = json.loads(ended.out)
        assert document["exit_code"] == ended.code
        return document

    def found(self, server: AbleServer, *arguments: str) -> dict[str, str]:
        """The verdicts of a complete handshake."""
        document = self.check(*model(server, *arguments))
        return {
            probe["capability"]: probe["verdict"]
            for probe in document["handshakes"]["model"]
        }

    def record(self) -> dict[str, Any]:
        row: dict[str, Any] = json.loads(
            (run_folder(self.runs) / "run.json").read_text()
        )
        return row

    def findings(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = results(self.runs)["mmeval"]["findings"]
        return rows


def model(server: AbleServer, *arguments: str) -> tuple[str, ...]:
    words = ",".join(("model=m", f"base_url={server.url}", *arguments))
    return ("--model", "openai", "--model_args", words)


def judge(server: AbleServer) -> tuple[str, str]:
    return ("--judge", f"openai,model=j,base_url={server.url}")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    share_scans(tmp_path / "cache")
    return Place(tmp_path)


@pytest.fixture
def greetings(place: Place) -> tuple[str | Path, ...]:
    """A run of a judged task whose model needs no server."""
    rows = [
        {"input": f"Greet guest {number}.", "references": [f"Hello guest {number}!"]}
        for number in range(GREETINGS)
    ]
    write_rows(place.folder / "data", *rows)
    task = place.folder / "greet.yaml"
    task.write_text(JUDGED)
    return ("--tasks", task, "--model", "reference")


@pytest.fixture
def pictured(place: Place) -> tuple[str | Path, ...]:
    """A task of ten pictures."""
    rows = []
    for number in range(10):
        shown = picture(["red", "blue"], f"WORD{'ABCDEFGHIJ'[number]}")
        file = place.folder / "data" / f"{number}.png"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(shown.read())
        media = {"image1": file.name}
        question = "What is it? <<image1>>"
        rows.append({"input": question, "media": media, "reference": "red"})
    write_rows(place.folder / "data", *rows)
    task = place.folder / "pictured.yaml"
    task.write_text(PICTURED)
    return ("--tasks", task)


# Complete handshakes


def test_an_honest_server_has_no_finding(place: Place) -> None:
    with AbleServer(Abilities(draws=True)) as server:
        document = place.check(*model(server, ALL_MEDIA, "outputs=text+image"))

    verdicts = {probe["verdict"] for probe in document["handshakes"]["model"]}
    assert verdicts == {"yes"}
    assert document["findings"] == []


@pytest.mark.parametrize(
    ("abilities", "capability", "verdict"),
    [
        pytest.param(BLIND, TAKES["image"], "no", id="drops pictures"),
        pytest.param(
            Abilities(drops_media=True, counts_tokens=False),
            TAKES["image"],
            "no",
            id="drops pictures and counts no tokens",
        ),
        pytest.param(
            Abilities(refuses_pictures="this model has no eyes"),
            TAKES["image"],
            "no",
            id="refuses pictures",
        ),
        pytest.param(
            Abilities(hears=False), TAKES["audio"], "doubtful", id="claims sounds"
        ),
        pytest.param(
            Abilities(reads_pages=False),
            TAKES["document"],
            "doubtful",
            id="claims documents",
        ),
        pytest.param(
            Abilities(watches=False), TAKES["video"], "doubtful", id="claims films"
        ),
        pytest.param(Abilities(swaps_pictures=True), ORDER, "no", id="swaps pictures"),
        pytest.param(Abilities(most_pictures=1), AT_ONCE, "no", id="one picture"),
        pytest.param(Abilities(holds_seed=False), SEED, "no", id="ignores seeds"),
        pytest.param(Abilities(takes_stop=False), STOP, "no", id="ignores stop"),
        pytest.param(
            Abilities(takes_system=False), SYSTEM, "doubtful", id="ignores system"
        ),
        pytest.param(
            Abilities(schema_fields=(), json_mode=False), JSON, "no", id="no JSON"
        ),
        pytest.param(
            Abilities(draws=True, draws_with_text=False),
            "gives image",
            "doubtful",
            id="draws when asked alone",
        ),
        pytest.param(Abilities(), "gives image", "no", id="claims to draw"),
    ],
)
def test_a_handshake_finds_what_is_missing(
    place: Place, abilities: Abilities, capability: str, verdict: Verdict
) -> None:
    with AbleServer(abilities) as server:
        verdicts = place.found(server, ALL_MEDIA, "outputs=text+image")

    assert verdicts[capability] == verdict


def test_two_pictures_are_taken_where_eight_are_not(place: Place) -> None:
    with AbleServer(Abilities(most_pictures=4)) as server:
        verdicts = place.found(server)

    assert (verdicts[ORDER], verdicts[MANY]) == ("yes", "no")
    assert AT_ONCE not in verdicts


@pytest.mark.parametrize(
    ("abilities", "form"),
    [
        pytest.param(Abilities(), "json_schema", id="schema"),
        pytest.param(
            Abilities(schema_fields=("guided_json",)), "guided_json", id="vLLM"
        ),
        pytest.param(Abilities(schema_fields=("format",)), "format", id="Ollama"),
        pytest.param(Abilities(schema_fields=()), "json_object", id="JSON mode only"),
        pytest.param(
            Abilities(
                schema_fields=(),
                refused_fields=("json_schema", "guided_json", "format"),
            ),
            "json_object",
            id="refuses schemas",
        ),
    ],
)
def test_a_handshake_finds_how_json_is_requested(
    place: Place, abilities: Abilities, form: str
) -> None:
    with AbleServer(abilities) as server:
        document = place.check(*model(server))

    (row,) = (
        probe
        for probe in document["handshakes"]["model"]
        if probe["capability"] == JSON
    )
    assert row["evidence"] == form


@pytest.mark.parametrize(
    "abilities",
    [Abilities(draws=True), BLIND, PROSE, Abilities(most_pictures=1)],
    ids=["honest", "blind", "prose", "one picture"],
)
def test_a_complete_handshake_is_at_most_twelve_calls(
    place: Place, abilities: Abilities
) -> None:
    with AbleServer(abilities) as server:
        place.found(server, ALL_MEDIA, "outputs=text+image")

    assert 0 < len(server.bodies) <= 12


# Check and try


def test_a_check_of_a_server_that_is_gone_ends_at_once(place: Place) -> None:
    started = time.monotonic()

    ended = place.mmeval(
        "check", "--model", "openai", "--model_args", f"model=m,base_url={AWAY}"
    )

    assert ended.code == 4
    assert time.monotonic() - started < 20


def test_a_server_that_is_gone_is_a_finding_of_its_role(place: Place) -> None:
    document = place.check(
        "--model", "openai", "--model_args", f"model=m,base_url={AWAY}"
    )

    (finding,) = document["findings"]
    assert (finding["kind"], finding["subject"]) == ("machine", {"role": "model"})
    assert document["handshakes"] == {}


def test_a_server_that_does_not_know_the_model_is_a_finding(place: Place) -> None:
    with AbleServer(Abilities(status=404)) as server:
        document = place.check(*model(server))

    (finding,) = document["findings"]
    assert (finding["kind"], finding["severity"]) == ("setting", "error")
    assert len(server.bodies) == 1


def test_a_check_prints_a_row_for_each_capability(place: Place) -> None:
    with AbleServer() as server:
        ended = place.mmeval("check", *model(server), "--verbosity", "DEBUG")

    rows = [line for line in ended.out.splitlines() if line.startswith("model ")]
    assert any(TAKES["image"] in row and "yes" in row for row in rows)
    assert any(SEED in row for row in rows)


def test_a_check_asks_the_judge_too(place: Place) -> None:
    with AbleServer() as server, AbleServer() as judging:
        document = place.check(*model(server), *judge(judging))

    assert document["handshakes"].keys() == {"model", "judge"}
    assert judging.handshakes > 0


def test_a_check_without_probes_asks_nothing(place: Place) -> None:
    with AbleServer() as server:
        document = place.check(*model(server), "--probe", "false")

    assert document["handshakes"] == {}
    assert server.bodies == []


def test_try_backend_prints_the_raw_exchange(place: Place) -> None:
    with AbleServer() as server:
        ended = place.mmeval("try", "backend", "openai", *model(server)[2:], "--json")

    document = json.loads(ended.out)
    exchange = document["exchanges"][0]
    assert json.loads(exchange["sent"]) == server.bodies[0]
    assert json.loads(exchange["received"])["model"] == "able-1"


def test_try_backend_prints_a_row_for_each_capability(place: Place) -> None:
    with AbleServer() as server:
        ended = place.mmeval("try", "backend", "openai", *model(server)[2:])

    assert ended.code == 0
    assert any(line.startswith(SEED) for line in ended.out.splitlines())


# Runs


def test_a_blind_server_is_asked_no_question(place: Place) -> None:
    with AbleServer(BLIND) as server:
        ended = place.run(*SIPU, *model(server))

    assert ended.code == 3
    assert server.questions == []


def test_the_evidence_against_a_blind_server_is_in_the_finding(place: Place) -> None:
    with AbleServer(BLIND) as server:
        place.run(*SIPU, *model(server))

    (finding,) = (row for row in place.findings() if row["kind"] == "unsupported")
    assert finding["count"] == 6
    assert "prompt tokens" in finding["cause"]


def test_a_run_records_what_its_handshake_found(place: Place) -> None:
    with AbleServer(BLIND) as server:
        place.run(*SIPU, *model(server))

    rows = place.record()["handshakes"]["model"]
    verdicts = {row["capability"]: row["verdict"] for row in rows}
    assert verdicts == {"answers": "yes", TAKES["image"]: "no"}
    assert results(place.runs)["mmeval"]["handshakes"]["model"] == rows


def test_a_run_that_is_repeated_still_states_what_was_found(place: Place) -> None:
    with AbleServer(BLIND) as server:
        words = (*SIPU, *model(server, "inputs=text+image"))
        place.run(*words)
        findings = place.findings()
        place.run(*words)

    assert place.findings() == findings
    assert "model" in results(place.runs)["mmeval"]["handshakes"]


def test_a_run_that_spent_its_budget_records_what_was_found(place: Place) -> None:
    with AbleServer(BLIND) as server:
        given = model(server, "inputs=text+image")
        place.run(*SIPU, *given, "--budget_calls", "4")

    assert "model" in place.record()["handshakes"]


def test_the_page_shows_what_the_handshake_found(place: Place) -> None:
    with AbleServer(BLIND) as server:
        place.mmeval("run", *SIPU, *model(server), "--output_path", place.runs)

    page = (run_folder(place.runs) / "report" / "index.html").read_text("utf-8")
    assert TAKES["image"] in page


def test_a_server_that_sees_is_asked(place: Place) -> None:
    with AbleServer() as server:
        ended = place.run(*SIPU, *model(server))

    assert ended.code == 0
    assert len(server.questions) > 0


def test_inputs_of_the_user_are_asked_nevertheless(place: Place) -> None:
    with AbleServer(BLIND) as server:
        place.run(*SIPU, *model(server, "inputs=text+image"))

    assert len(server.questions) > 0
    (finding,) = (row for row in place.findings() if row["kind"] == "unsupported")
    assert finding["subject"] == {"role": "model"}
    assert TAKES["image"] in finding["cause"]


def test_a_run_without_probes_makes_no_handshake(place: Place) -> None:
    with AbleServer(BLIND) as server:
        place.run(*SIPU, *model(server), "--probe", "false")

    assert server.handshakes == 0
    assert len(server.questions) > 0


def test_the_environment_switches_probes_off(place: Place) -> None:
    flags = (*QUIET, "--output_path", place.runs)
    with AbleServer(BLIND) as server:
        place.mmeval("run", *SIPU, *model(server), *flags, MMEVAL_PROBE="false")

    assert server.handshakes == 0


def test_another_run_with_the_same_server_makes_no_handshake(place: Place) -> None:
    with AbleServer() as server:
        place.run(*SIPU, *model(server))
        calls = server.handshakes
        place.run(*SIPU, *model(server), "--run_id", "second")

    assert server.handshakes == calls


def test_a_denied_kind_is_asked_again(place: Place) -> None:
    with AbleServer(BLIND) as server:
        place.run(*SIPU, *model(server))
        calls = server.handshakes
        place.run(*SIPU, *model(server), "--run_id", "second")

    assert server.handshakes > calls


def test_a_mended_server_is_asked_its_questions(place: Place) -> None:
    with AbleServer(BLIND) as server:
        place.run(*SIPU, *model(server))
        server.abilities = Abilities()
        ended = place.run(*SIPU, *model(server))

    assert ended.code == 0
    assert len(server.questions) > 0


def test_a_dry_run_sends_nothing(place: Place) -> None:
    with AbleServer() as server:
        ended = place.run(*SIPU, *model(server), "--dry_run")

    assert ended.code == 0
    assert server.bodies == []


def test_ten_pictures_need_at_most_three_calls_of_a_handshake(
    place: Place, pictured: tuple[str | Path, ...]
) -> None:
    with AbleServer() as server:
        place.run(*pictured, *model(server))

    assert len(server.questions) == 10
    assert server.handshakes <= 3


def test_a_run_of_text_makes_no_handshake(
    place: Place, greetings: tuple[str | Path, ...]
) -> None:
    with AbleServer() as server:
        place.run(*greetings[:2], *model(server))

    assert len(server.questions) == GREETINGS
    assert server.handshakes == 0


def test_pictures_that_add_no_tokens_are_counted_without_probes(
    place: Place, pictured: tuple[str | Path, ...]
) -> None:
    with AbleServer(BLIND) as server:
        place.run(*pictured, *model(server), "--probe", "false")

    (finding,) = (row for row in place.findings() if row["kind"] == "unsupported")
    assert (finding["count"], finding["of"]) == (10, 10)


# Judges


def test_a_judge_that_writes_prose_is_asked_at_most_24_times_a_metric(
    place: Place, greetings: tuple[str | Path, ...]
) -> None:
    with AbleServer(PROSE) as server:
        ended = place.run(*greetings, *judge(server))

    assert ended.code == 3
    assert len(server.questions) <= 2 * 24


def test_the_reply_of_a_judge_that_writes_prose_is_shown(
    place: Place, greetings: tuple[str | Path, ...]
) -> None:
    with AbleServer(PROSE) as server:
        place.run(*greetings, *judge(server))

    rows = [row for row in place.findings() if row["kind"] == "suspended"]
    assert len(rows) == 2
    assert all(PROSE.prose in row["cause"] for row in rows)


def test_the_command_that_resumes_names_another_judge(
    place: Place, greetings: tuple[str | Path, ...]
) -> None:
    with AbleServer(PROSE) as server:
        place.run(*greetings, *judge(server))

    rows = [row for row in place.findings() if row["kind"] == "suspended"]
    assert all("--judge " in row["remedy"] for row in rows)


def test_generation_goes_on_without_the_judge(
    place: Place, greetings: tuple[str | Path, ...]
) -> None:
    with AbleServer(PROSE) as server, AbleServer() as answering:
        place.run(*greetings[:2], *model(answering), *judge(server))

    assert len(answering.questions) == GREETINGS


def test_another_judge_is_asked_what_is_left(
    place: Place, greetings: tuple[str | Path, ...]
) -> None:
    folder = run_folder(place.runs, "reference")
    with AbleServer(PROSE) as server, AbleServer() as better:
        place.run(*greetings, *judge(server))
        ended = place.mmeval("score", folder, *judge(better))
        place.mmeval("score", folder, *judge(better))

    assert ended.code == 0
    assert len(better.questions) == 2 * GREETINGS


def test_a_judge_with_a_schema_loses_no_verdict(
    place: Place, greetings: tuple[str | Path, ...]
) -> None:
    chatty = Abilities(prose=PROSE.prose)
    with AbleServer(chatty) as server:
        ended = place.run(*greetings, *judge(server))

    assert ended.code == 0
    assert len(server.questions) == 2 * GREETINGS
    assert all("response_format" in body for body in server.questions)


def test_a_verdict_whose_schema_is_refused_is_requested_without_one(
    place: Place, greetings: tuple[str | Path, ...]
) -> None:
    verdict = '{"reason": "It is warm.", "grade": 5, "verdict": "yes"}'
    simple = Abilities(most_properties=1, prose=verdict)
    with AbleServer(simple) as server:
        ended = place.run(*greetings, *judge(server))

    assert ended.code == 0
    assert "response_format" not in server.questions[-1]


def test_without_patience_all_verdicts_are_requested(
    place: Place, greetings: tuple[str | Path, ...]
) -> None:
    with AbleServer(PROSE) as server:
        ended = place.run(*greetings, *judge(server), "--judge_patience", "0")

    assert ended.code == 3
    assert len(server.questions) == 2 * GREETINGS * 3


def test_less_patience_makes_fewer_calls(
    place: Place, greetings: tuple[str | Path, ...]
) -> None:
    with AbleServer(PROSE) as server:
        place.run(*greetings, *judge(server), "--judge_patience", "2")

    assert len(server.questions) <= 2 * 2 * 3


def test_a_task_of_pictures_cannot_run_with_a_model_that_is_blind(
    place: Place, pictured: tuple[str | Path, ...]
) -> None:
    with AbleServer(Abilities(sees=False, drops_media=True)) as server:
        document = place.check(pictured[1], *model(server))
    assert document["can_run"] == []


def test_bundled_pictures_are_not_for_a_model_that_is_blind(place: Place) -> None:
    with AbleServer(Abilities(sees=False, drops_media=True)) as server:
        done = place.mmeval("check", "isg_howto", "ueval_art", *model(server))
    assert "with --data bundled 1 of 2" in done.out


def test_answers_with_pictures_have_no_score_from_a_judge_that_is_blind(
    place: Place,
) -> None:
    task = place.folder / "drawn.yaml"
    task.write_text(DRAWN)
    write_rows(
        place.folder / "data",
        {"id": "1", "input": "Draw.", "reference": "It.", "rubric": ["It is drawn."]},
    )
    with AbleServer() as server, AbleServer(BLIND) as judging:
        painter = model(server, "outputs=text+image")
        able = place.check(task, *painter, *judge(server))
        blind = place.check(task, *painter, *judge(judging))
    assert able["without_score"] == []
    assert blind["without_score"] == ["drawn"]


def test_a_check_says_what_the_model_can_do_in_one_sentence(place: Place) -> None:
    with AbleServer() as server:
        done = place.mmeval("check", *model(server))
    words = " ".join(done.out.split())
    assert "data go to 127.0.0.1" in words
    assert ": sees pictures, tells two pictures apart, hears, reads documents" in words
