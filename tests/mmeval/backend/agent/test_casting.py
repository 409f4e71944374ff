import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mmeval.backend.agent.answer import AgentProgram
from mmeval.backend.agent.contract import Agent, AgentBackend, agent
from mmeval.backend.capabilities import Capabilities, Limit
from mmeval.backend.tool import Tool
from mmeval.errors import (
    EXIT_MISSING,
    EXIT_OK,
    EXIT_USAGE,
    MmevalError,
    PluginError,
    UnknownNameError,
    UsageError,
)
from mmeval.program.calls import Reply, Role
from mmeval.program.prompt import PromptError
from mmeval.program.prompt_file import PromptFile
from mmeval.records.request import GenerationParams, Request
from mmeval.run.backends import Backends
from mmeval.run.options import BackendSpec
from mmeval.task.task import FixedKinds
from tests.support.toy import Toy, request, run_toy, sample, task, toy_agent

TOY = BackendSpec("toy")


pytestmark = pytest.mark.usefixtures("toys")


@agent(
    takes=("text",),
    gives=("text", "audio", "image"),
    version="1",
    by_kind={"receiver": "planner"},
)
def cast_of_four(
    request: Request,
    planner: Role,
    receiver: Role | None = None,
    text_to_image: Tool | None = None,
    text_to_speech: Tool | None = None,
    *,
    rounds: int = 2,
) -> AgentProgram:
    """Tells whom it would ask."""
    told = [
        planner,
        receiver and receiver.variant("audio"),
        receiver and receiver.variant("image"),
    ]
    roles = [role and role.name for role in (*told, text_to_image, text_to_speech)]
    reply: Reply = yield planner.ask(f"{roles} {rounds}")
    return reply.require()


def texts_asked(backend: AgentBackend) -> str:
    asked = next(backend.program(request()))
    return asked.request.messages[-1].content.text  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("present", "roles", "gives"),
    [
        (
            ("planner",),
            "['planner', 'planner', 'planner', None, None]",
            {"text", "code"},
        ),
        (
            ("planner", "receiver.audio", "text_to_speech"),
            "['planner', 'receiver.audio', 'planner', None, 'text_to_speech']",
            {"text", "code", "audio"},
        ),
        (
            ("planner", "receiver", "receiver.image", "text_to_image", "judge"),
            "['planner', 'receiver', 'receiver.image', 'text_to_image', None]",
            {"text", "code", "image"},
        ),
    ],
)
def test_an_agent_is_given_the_roles_of_the_run_and_gives_what_their_tools_make(
    present: tuple[str, ...], roles: str, gives: set[str]
) -> None:
    backend = cast_of_four(rounds=3)
    backend.cast(present)
    assert texts_asked(backend) == f"{roles} 3"
    assert set(backend.capabilities.outputs) == gives
    assert set(backend.called_roles) == {*present} - {"judge"}


class Deaf(Toy):
    """Gives text alone."""

    def __init__(self) -> None:
        super().__init__()
        self.capabilities = Capabilities.of(("text",), ("text",))


class Blind(Toy):
    """Gives pictures, but sees none."""

    def __init__(self) -> None:
        super().__init__()
        self.capabilities = Capabilities.of(("text",), ("text", "image"))


class Copier(Toy):
    """Cannot draw without a picture."""

    def __init__(self) -> None:
        super().__init__()
        self.capabilities = Capabilities(
            {"text": Limit(), "image": Limit(min_items=1)},
            {"text": Limit(), "image": Limit()},
        )


@agent(takes=("text",), gives=("text", "image"), version="1")
def retoucher(request: Request, image_edit: Tool | None = None) -> AgentProgram:
    """Changes nothing."""
    reply: Reply = yield Role("image_edit").ask("a hare")
    return reply.require()


def specs(**roles: Any) -> dict[str, BackendSpec]:
    return {
        role: BackendSpec(str(one), instance=one)
        if not isinstance(one, BackendSpec)
        else one
        for role, one in roles.items()
    }


@pytest.mark.parametrize(
    ("roles", "code", "name"),
    [
        (lambda: specs(model=toy_agent()), EXIT_MISSING, "helper"),
        (
            lambda: specs(model=toy_agent(), helper=TOY, text_to_image=Deaf()),
            EXIT_USAGE,
            "text_to_image",
        ),
        (
            lambda: specs(model=retoucher(), image_edit=Blind()),
            EXIT_USAGE,
            "image_edit",
        ),
        (
            lambda: specs(model=toy_agent(), helper=TOY, text_to_image=Copier()),
            EXIT_USAGE,
            "text_to_image",
        ),
        (
            lambda: specs(model=toy_agent(), helper=BackendSpec("toy_agent")),
            EXIT_USAGE,
            "",
        ),
        (
            lambda: specs(
                model=toy_agent(),
                helper=cast_of_four(),
                planner=BackendSpec("toy_agent"),
            ),
            EXIT_USAGE,
            "",
        ),
        (
            lambda: specs(
                model=toy_agent(), helper=BackendSpec("toy", {"gen.temprature": 1})
            ),
            EXIT_USAGE,
            "temprature",
        ),
        (lambda: specs(model=BackendSpec("toy", {"gen.top_k": 1})), EXIT_USAGE, "gen."),
    ],
    ids=[
        "a role is missing",
        "another kind",
        "input that it cannot read",
        "input that it does not get",
        "itself",
        "itself by another",
        "no parameter",
        "of the model",
    ],
)
def test_a_cast_that_cannot_work_is_refused_before_anything_is_asked(
    roles: Callable[[], Mapping[str, BackendSpec]], code: int, name: str
) -> None:
    with pytest.raises(MmevalError) as caught:
        Backends(roles())
    assert (caught.value.exit_code, caught.value.name) == (code, name)


def test_a_role_that_neither_a_task_nor_an_agent_asks_is_refused(
    tmp_path: Path,
) -> None:
    agents: dict[str, Any] = {
        "model": BackendSpec("toy_agent"),
        "roles": {"helper": TOY, "text_to_imag": TOY},
    }
    with pytest.raises(UsageError) as caught:
        run_toy(tmp_path, task(), **agents)
    assert (caught.value.name, "text_to_image" in str(caught.value)) == (
        "text_to_imag",
        True,
    )
    assert caught.value.known == ("helper", "text_to_image")


def test_parameters_among_the_arguments_of_a_role_are_those_of_its_calls_and_no_argument_of_its_backend(
    tmp_path: Path,
) -> None:
    helper = Toy()
    given = BackendSpec("toy", {"gen.temperature": 0.2}, instance=helper)
    run_toy(
        tmp_path, task(rows=1), model=BackendSpec("toy_agent"), roles={"helper": given}
    )
    assert [asked.params.temperature for asked in helper.asked] == [0.2, 0.2]
    made = Backends({"judge": BackendSpec("toy", {"gen.top_k": 3}), "captioner": TOY})
    assert made.named["judge"] is made.named["captioner"]
    assert made.params == {"judge": GenerationParams(top_k=3)}


@pytest.mark.parametrize(
    ("role", "identity"),
    [
        ("helper", {"weights": Path("weights")}),
        ("model", {"weights": {1, 2}}),
        ("model", {"weights": math.nan}),
        ("model", None),
    ],
    ids=["a path", "a set", "no number", "nothing"],
)
def test_an_identity_that_json_cannot_hold_is_a_fault_of_the_backend(
    identity: Any, role: str
) -> None:
    odd = Toy()
    odd.identity = identity  # what an author may have written
    given = specs(**{"model": toy_agent() if role == "helper" else odd, "helper": odd})
    with pytest.raises(PluginError) as caught:
        Backends(given).identities()
    assert (caught.value.name, "weights" in str(caught.value)) == (
        role,
        identity is not None,
    )


def test_an_agent_that_asks_an_agent_has_the_identity_of_both_and_of_whom_they_ask() -> (
    None
):
    made = Backends(
        specs(
            model=cast_of_four(),
            planner=BackendSpec("toy_agent"),
            helper=TOY,
            text_to_image=TOY,
        )
    )
    assert set(made.identities()["roles"]) == {"planner", "helper", "text_to_image"}
    assert made.identities()["model"]["arguments"] == {"rounds": 2}


def test_a_sample_that_wants_what_only_an_absent_tool_makes_is_unsupported_and_the_reason_names_the_flag(
    tmp_path: Path,
) -> None:
    wanting = [*(task(rows=1, name=name) for name in ("words", "pictures"))]
    wanting[1] = task(rows=[sample("p")], name="pictures")
    object.__setattr__(wanting[1], "output_kinds", FixedKinds(("text", "image")))
    outcome = run_toy(
        tmp_path, *wanting, model=BackendSpec("toy_agent"), roles={"helper": TOY}
    )
    assert (outcome.counts.unsupported, outcome.counts.new) == (1, 1)
    assert any(
        "--role text_to_image=BACKEND" in one.cause for one in outcome.table_findings
    )
    outcome = run_toy(
        tmp_path / "b",
        *wanting,
        model=BackendSpec("toy_agent"),
        roles={"helper": TOY, "text_to_image": TOY},
    )
    assert (outcome.counts.unsupported, outcome.counts.new, outcome.exit_code) == (
        0,
        2,
        EXIT_OK,
    )


@pytest.mark.parametrize(
    "function",
    [
        lambda request: request,
        "def one(asked, planner): yield",
        "def one(request, planner='x'): yield",
        "def one(request, *planners): yield",
        "def one(request, planner, *, rounds): yield",
    ],
)
def test_a_function_that_cannot_be_an_agent_is_refused(function: Any) -> None:
    if isinstance(function, str):
        made: dict[str, Any] = {}
        exec(function, made)
        function = made["one"]
    with pytest.raises(PluginError):
        agent(takes=("text",), gives=("text",), version="1")(function)
    with pytest.raises(PluginError):
        Agent(cast_of_four.function, ("text",), ("text",), "1", {"planner": "receiver"})


def test_arguments_are_checked_by_their_annotations(tmp_path: Path) -> None:
    from mmeval.backend.create import create_backend

    for args in ({"note": ["x"]}, {"nope": "x"}, {"prompts": str(tmp_path / "gone")}):
        with pytest.raises(UsageError):
            create_backend("toy_agent", args)
    assert create_backend("toy_agent", {"note": "x"}).identity["arguments"] == {
        "note": "x"
    }


def prompted(folder: Path, **files: str) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / f"{name}.jinja").write_text(text)
    return folder


def test_a_folder_of_prompts_replaces_those_of_the_same_name_and_counts(
    tmp_path: Path,
) -> None:
    from mmeval.backend.agent.prompts import find_prompts

    own = prompted(
        tmp_path / "own",
        plan="[system]\nbe brief\n[user]\nplan {{ question }}",
        check="{{ report }}",
    )
    mine = prompted(tmp_path / "mine", plan="please plan {{ question }} {{ mark }}")
    plain, changed = find_prompts(own), find_prompts(own, str(mine))
    assert [m.content.text for m in plain.messages("plan", question="q")] == [
        "be brief",
        "plan q",
    ]
    assert changed.messages("plan", question="q")[0].content.text.startswith(
        "please plan q "
    )
    assert (
        plain.digest != changed.digest
        and changed.messages("check", report="r")[0].content.text == "r"
    )
    with pytest.raises(UnknownNameError):
        plain.messages("judge")
    with pytest.raises(UnknownNameError):
        find_prompts(own, str(prompted(tmp_path / "unknown", judge="x")))
    with pytest.raises(PromptError):
        find_prompts(own, str(prompted(tmp_path / "reading", plan="{{ report }}")))
    assert PromptFile("x", "[user]\n{{ a }}{{ b.c }}").reads == {"a", "b"}
