from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mmeval import plugins
from mmeval.errors import AmbiguousNameError, MissingExtraError, PluginError, UnknownNameError
from mmeval.installation import install_command
from mmeval.plugins import GROUPS
from mmeval.system.extras import need

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a distribution with entry points (``group``, ``name = value``), as a folder on the path."""

    def add(distribution: str, *entries: str, group: str = "mmeval.aggregators", site: str = "site") -> None:
        folder = tmp_path / site / f"{distribution.replace('-', '_')}-1.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1\n")
        (folder / "entry_points.txt").write_text(f"[{group}]\n" + "\n".join(entries) + "\n")
        monkeypatch.syspath_prepend(str(tmp_path / site))
        plugins._registered.cache_clear()

    yield add
    plugins._registered.cache_clear()


def test_a_plugin_of_an_installed_distribution_is_found_by_its_name(install: Install) -> None:
    install("my-bench", "flat = mmeval.aggregate.aggregators:median")

    from mmeval.aggregate.aggregators import median

    assert plugins.load("mmeval.aggregators", "flat") is median
    assert "flat" in plugins.names("mmeval.aggregators")


def test_an_unknown_name_is_refused_with_near_names() -> None:
    with pytest.raises(UnknownNameError, match="unknown aggregator 'meen'; did you mean \"mean\""):
        plugins.load("mmeval.aggregators", "meen")


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        ("no_such_module:thing", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("mmeval.aggregate.summary:gone", "AttributeError"),
        ("tests.support.broken_plugin:thing", "ZeroDivisionError"),
    ],
    ids=["no module", "no object", "fails at import"],
)
def test_a_broken_plugin_is_named_with_its_distribution_and_cause(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, cause: str
) -> None:
    (tmp_path / "broken_plugin.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(str(tmp_path))
    install("my-bench", f"broken = {value.removeprefix('tests.support.')}")

    with pytest.raises(PluginError) as broken:
        plugins.load("mmeval.aggregators", "broken")
    said = str(broken.value)
    assert said.startswith("the plugin 'broken' (mmeval.aggregators) of my-bench cannot be loaded from")
    assert cause in said


def test_a_broken_plugin_harms_nobody_else(install: Install) -> None:
    install("my-bench", "broken = no_such_module:thing")

    assert plugins.load("mmeval.aggregators", "mean")
    assert "broken" in plugins.names("mmeval.aggregators")


def test_a_plugin_that_lacks_an_extra_says_how_to_install_it(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "needy_plugin.py").write_text(
        "from mmeval.system.extras import need\nneed('no_such_package', 'audio')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    install("my-bench", "needy = needy_plugin:thing")

    with pytest.raises(MissingExtraError, match=re.escape(f"run: {install_command('audio')}")):
        plugins.load("mmeval.aggregators", "needy")


def test_a_name_that_two_distributions_claim_is_refused_naming_both(install: Install) -> None:
    install("one-bench", "mine = mmeval.aggregate.aggregators:mean")
    install("other_bench", "mine = mmeval.aggregate.aggregators:median")

    with pytest.raises(AmbiguousNameError) as clash:
        plugins.load("mmeval.aggregators", "mine")
    assert "is registered by one-bench and other-bench; write " in str(clash.value)


@pytest.mark.parametrize("owner", ["other-bench", "other_bench", "Other.Bench"])
def test_the_distribution_before_a_slash_says_which_is_meant(install: Install, owner: str) -> None:
    install("one-bench", "mine = mmeval.aggregate.aggregators:mean")
    install("other-bench", "mine = mmeval.aggregate.aggregators:median")

    assert plugins.load("mmeval.aggregators", f"{owner}/mine").__name__ == "median"


def test_a_distribution_that_has_no_such_plugin_is_unknown(install: Install) -> None:
    install("one-bench", "mine = mmeval.aggregate.aggregators:mean")

    with pytest.raises(UnknownNameError, match="unknown aggregator 'other/mine'"):
        plugins.load("mmeval.aggregators", "other/mine")


def test_the_same_claim_seen_twice_is_no_clash(install: Install) -> None:
    for site in ("site", "site2"):
        install("one-bench", "mine = mmeval.aggregate.aggregators:mean", site=site)

    assert plugins.load("mmeval.aggregators", "mine").__name__ == "mean"
    assert [entry.name for entry in plugins.entries("mmeval.aggregators")].count("mine") == 1


@pytest.mark.parametrize("group", GROUPS)
def test_whatever_mmeval_registers_itself_loads(group: plugins.PluginGroup) -> None:
    own = [entry for entry in plugins.entries(group) if plugins.distribution_of(entry) == "mmeval"]

    for entry in own:
        assert plugins.load(group, f"mmeval/{entry.name}") is not None
    assert own or group == "mmeval.prompts"


def test_nothing_is_loaded_for_the_sake_of_a_list() -> None:
    listing = "import sys, mmeval.plugins as p; p.names('mmeval.metrics'); print('mmeval.metrics' in sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", listing], env=dict(os.environ), capture_output=True, text=True, check=True
    )

    assert found.stdout.strip() == "False"


def test_an_import_error_inside_an_optional_package_is_not_taken_for_its_absence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "half_installed.py").write_text("import something_else_is_missing")
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.raises(ModuleNotFoundError, match="something_else_is_missing"):
        need("half_installed", "audio")
