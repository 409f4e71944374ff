"""Agents in released words: each request, item by item.

The released files are stand-ins of the same shapes.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval.backend.agent.contract import Agent
from mmeval.tasks import isg
from tests.soak.support.stand_ins import named_media, shown, with_digests_of
from tests.support.able_server import PICTURE
from tests.support.cli import QUIET, Ended, mmeval, results
from tests.support.servers import LocalHandler, LocalServer

ROOT = Path(__file__).parents[3] / "model_backends" / "agents"
ISG = Path(isg.__file__).parent / "bundled"
QUESTION = (
    "Repaint this red lamp in two styles, pencil and watercolour, each followed by one "
    "sentence."
)
LAYOUT = "<gen_text1> <gen_img1>"
PLANNING = '\nPlan it {as} JSON: [{"Task": ""}], {{twice}} and {% so %}.\n'
SELECTING = "Take a tool. " * 40
CAPTIONING = "Write a text. " * 40
SMOOTHING = "\nMake `<boi><eoi>` flow.\n"
TOOLS = '[{"name": "ImageGeneration", "input_schema": {"type": "object"}}]\n'
REFINING = (
    'f"""\nError: {error_message}\nTask {task_content}\nof {structure}\n'
    'was {response_text}\nReply with [{{"Task": ""}}], #image{{ID}}#.\n"""'
)
FILES = {
    "ISG_agent/Prompt/NewUnifyPrompt.py": f"PLANNING_PROMPT = {PLANNING!r}",
    "ISG_agent/PlanningAgentV2.py": (
        "def reconstruction(task_content, structure, response_text, error_message):\n"
        f"    prompt = {REFINING}\n"
    ),
    "ISG_agent/ToolAgent.py": (
        f"def tool_agent():\n    ask(system={SELECTING!r})\n"
        f"    ask(system={CAPTIONING!r})\n"
    ),
    "ISG_agent/VerifyAgentUpdate.py": (
        f"data = # a path\ndef smooth_result():\n    sys_p = {SMOOTHING!r}\n"
    ),
    "ISG_agent/Tools Example/Tools_For_Sota.json": TOOLS,
    "ISG_eval/get_model.py": (
        "class LLM_SD:\n    def get_res(self):\n"
        f"        self.ask({'You can draw {it}. ' * 20!r})\n"
    ),
    "compositional_inference.py": f"query.append({'Notice: wrap it. ' * 20!r})\n",
}
DRAW = {
    "Step": 1,
    "Task": "Call_tool",
    "Input_text": "Use ImageGeneration tool: a lamp",
    "Input_images": [],
}
CAPTION = {
    "Step": 2,
    "Task": "Caption",
    "Input_text": "Say what it is.",
    "Input_images": ["#image1#"],
}
ADD = {"Step": 3, "Task": "AddImage", "Input_images": ["<GEN_0>"]}
GOOD = json.dumps([DRAW, CAPTION, ADD])
BAD = json.dumps([{"Step": 1, "Task": "Draw"}])
STRUCTURE = {
    "Query": ["<query_img1>", "<query_text1>"],
    "Answer": ["<gen_text1>", "<gen_img1>"],
}


class ScriptedRoles(LocalServer):
    """Answers each step of an agent, and keeps the messages of each request."""

    def __init__(self) -> None:
        self.messages: list[list[dict[str, Any]]] = []
        super().__init__(self._handler())

    def reply(self, body: dict[str, Any]) -> Any:
        if body["model"] == "painter":
            url = f"data:image/png;base64,{PICTURE}"
            return [{"type": "image_url", "image_url": {"url": url}}]
        self.messages.append(body["messages"])
        system = body["messages"][0]["content"]
        replies = {
            PLANNING: BAD,
            SELECTING: '{"tool": "ImageGeneration", "arguments": {"prompt": "a lamp"}}',
            CAPTIONING: "A lamp.",
            SMOOTHING: "Here is a lamp. <boi><eoi>",
        }
        if body["messages"][0]["role"] == "user":
            return GOOD
        return replies.get(system, json.dumps(STRUCTURE))

    def _handler(self) -> type[LocalHandler]:
        owner = self

        class Handler(LocalHandler):
            def respond(self) -> None:
                content = owner.reply(json.loads(self.body()))
                message = {"role": "assistant", "content": content}
                choice = {"index": 0, "message": message, "finish_reason": "stop"}
                payload = json.dumps({"model": "m", "choices": [choice]}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

        return Handler


@pytest.fixture
def server() -> Iterator[ScriptedRoles]:
    with ScriptedRoles() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The clone of the stand-ins; the agents have catalogues with their digests."""
    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(tmp_path / "cache"))
    clone = tmp_path / "clone"
    for name, content in FILES.items():
        file = clone / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    for name in ("isg", "mmmg"):
        agents = tmp_path / "agents" / name
        shutil.copytree(ROOT / name / "prompts", agents / "prompts")
        shutil.copy(ROOT / name / "released.yaml", agents)
        with_digests_of(agents / "released.yaml", clone)
    monkeypatch.setattr(
        Agent,
        "folder",
        property(
            lambda agent: tmp_path / "agents" / agent.function.__module__.split(".")[-2]
        ),
    )
    return tmp_path


def run(
    folder: Path, server: ScriptedRoles, agent: str = "isg_agent", *words: str | Path
) -> Ended:
    address = f"base_url={server.url}"
    return mmeval(
        "run",
        *("--tasks", "isg_art_style_transfer", "--data", "bundled", "--limit", "1"),
        # the released words of judges are not here
        *("--skip_metric", "isg_block,isg_image,isg_holistic"),
        *("--model", agent, "--role", f"planner=openai,model=p,{address}"),
        *("--role", f"text_to_image=openai,model=painter,outputs=image,{address}"),
        *("--prompts", "released", "--predict_only", "true", "--probe", "false"),
        *("--output_path", folder / "runs"),
        *QUIET,
        *words,
    )


def prepared(folder: Path, agent: str = "isg_agent") -> Ended:
    words = ("--prompts", "--prompts_from", folder / "clone")
    return mmeval("prepare", agent, *words)


def text(content: str) -> dict[str, str]:
    return {"type": "text", "text": content}


def test_each_step_of_the_agent_is_asked_as_the_released_script_does(
    folder: Path, server: ScriptedRoles
) -> None:
    prepared(folder)
    done = run(folder, server)
    assert done.code == 0, done.err
    lamp = {"type": "image_url", "image_url": {"url": "lamp.png"}}
    planned = f"###Task:{QUESTION}\n\n###Structure Requirement:{LAYOUT}\n\n"
    failure = "step 1: 'Draw' is none of Call_tool, Caption, AddImage"
    chosen = (
        "Input text:Use ImageGeneration tool: a lampInput images number:0\n\n"
        f'{TOOLS}\n\n{{"tool": "NAME", "arguments": {{}}}}'
    )
    smoothed = (
        f"###Task Description:\n{QUESTION}\n\n###Result:\nA lamp.\n\n<boi><eoi>\n\n"
    )
    names = named_media(ISG / "images")
    structure, *calls = [shown(call, names) for call in server.messages]
    assert structure[0][1].startswith("You find out")
    assert calls == [
        [("system", PLANNING), ("user", [lamp, text(planned)])],
        [
            (
                "user",
                f"\nError: {failure}\n\nTask {QUESTION}\nof {LAYOUT}\nwas {BAD}\n"
                'Reply with [{"Task": ""}], #image{ID}#.\n',
            )
        ],
        [("system", SELECTING), ("user", chosen)],
        [("system", CAPTIONING), ("user", [lamp, text("Say what it is.")])],
        [("system", SMOOTHING), ("user", smoothed)],
    ]


def test_a_run_states_which_step_is_in_our_own_words(
    folder: Path, server: ScriptedRoles
) -> None:
    prepared(folder)
    run(folder, server)
    findings = results(folder / "runs")["mmeval"]["findings"]
    (finding,) = [row for row in findings if row["kind"] == "other_definition"]
    assert (finding["count"], finding["of"]) == (5, 6)
    assert finding["cause"].endswith("own: isg_agent.structure")


def test_a_scored_run_names_the_texts_of_each_step(
    folder: Path, server: ScriptedRoles
) -> None:
    prepared(folder)
    run(folder, server)
    judge = f"openai,model=p,base_url={server.url}"
    of_run = folder / "runs" / "isg_agent" / "default"
    done = mmeval("score", of_run, "--metrics", "isg_structural", "--judge", judge)
    assert done.code == 0, done.err
    prompts = results(folder / "runs")["mmeval"]["prompts"]
    ids = [text["id"] for text in prompts["isg_agent.select"]["texts"]]
    assert ids == ["isg.agent.select.system", "isg.agent.tools"]
    assert prompts["isg_agent.structure"]["words"] == "own"
    assert all("text" not in row for row in prompts.values())


def test_the_other_agent_of_the_benchmark_asks_with_the_released_suffix(
    folder: Path, server: ScriptedRoles
) -> None:
    prepared(folder, "compositional")
    done = run(folder, server, "compositional")
    assert done.code == 0, done.err
    lamp = {"type": "image_url", "image_url": {"url": "lamp.png"}}
    names = named_media(ISG / "images")
    (call,) = [shown(call, names) for call in server.messages]
    assert call == [
        ("system", "You can draw {it}. " * 20),
        ("user", [lamp, text(QUESTION + "Notice: wrap it. " * 20)]),
    ]


def test_a_missing_text_of_an_agent_is_named_before_the_first_call(
    folder: Path, server: ScriptedRoles
) -> None:
    done = run(folder, server)
    assert done.code == 4
    assert "mmeval prepare isg_agent --prompts" in " ".join(done.err.split())
    assert server.messages == []


def test_a_folder_replaces_a_prompt_of_the_agent(
    folder: Path, server: ScriptedRoles
) -> None:
    prompts = folder / "prompts"
    prompts.mkdir()
    (prompts / "plan.jinja").write_text("[system]\nPlan {{ task }}.\n[user]\nNow.")
    (prompts / "of_another_task.jinja").write_text("Not used.")
    done = run(folder, server, "isg_agent", "--prompts", str(prompts))
    plans = [call for call in server.messages if call[0]["content"].startswith("Plan")]
    assert plans
    assert "of_another_task" in done.err
    recorded = results(folder / "runs")["mmeval"]["prompts"]
    assert recorded["isg_agent.plan"]["words"] == "user"
