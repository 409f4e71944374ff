"""The page about publishing leads from an empty folder to an installed package, where
only mmeval is installed."""

from pathlib import Path

import pytest

from tests.soak.support.doc_examples import Reader, blocks
from tests.soak.support.fresh_environment import (
    FreshEnvironment,
    build_wheel,
    closure,
    copy_of_tree,
    metadata_of,
)
from tests.support.judges import judge_server

PAGE = Path(__file__).parents[3] / "docs" / "tutorials" / "publish.md"
TOOLS = ("pip", "setuptools", "build", "pytest")


@pytest.fixture
def fresh(tmp_path: Path) -> FreshEnvironment:
    """mmeval from its wheel with what that asks for, and the tools that the page
    names."""
    copy_of_tree(tmp_path / "tree")
    wheel = build_wheel(tmp_path / "tree", tmp_path / "dist")
    environment = FreshEnvironment.create(tmp_path / "venv")
    environment.link(
        closure([*(metadata_of(wheel).requires or []), *TOOLS], ()) | {*TOOLS}
    )
    environment.install(str(wheel))
    environment.add_commands("pip")
    return environment


def test_the_page_leads_to_an_installed_package_whose_task_runs(
    fresh: FreshEnvironment, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with judge_server(tmp_path / "judge") as server:
        reader = Reader(home, server, python=fresh.python)
        for block in blocks(PAGE):
            reader.follow(block)
    installed = fresh.site_packages / "herbench" / "tasks"
    assert (installed / "prompts" / "rubric.md").is_file(), (
        "the package runs from where it was installed"
    )
    assert list(home.glob("runs/reference/published/results_*.json"))
