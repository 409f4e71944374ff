from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mmeval import plugins
from mmeval.aggregate.aggregators import median
from mmeval.errors import AmbiguousNameError, PluginError, UnknownNameError
from mmeval.system.extras import need
from tests.support.task_folder import write_distribution, write_files

Install = Callable[..., None]
GROUP: plugins.PluginGroup = "mmeval.aggregators"
MEAN = "mine = mmeval.aggregate.aggregators:mean"
MEDIAN = "mine = mmeval.aggregate.aggregators:median"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a distribution with an aggregator (``name = value``), as a folder on the
    path beside modules."""

    def add(distribution: str, entry: str, site: str = "site", **modules: str) -> None:
        write_distribution(tmp_path / site, distribution, f"[{GROUP}]\n{entry}\n")
        write_files(
            tmp_path / site, {f"{name}.py": text for name, text in modules.items()}
        )
        monkeypatch.syspath_prepend(str(tmp_path / site))
        plugins._registered.cache_clear()

    yield add
    plugins._registered.cache_clear()


def test_a_plugin_of_a_distribution_is_found_by_its_name_and_unknown_ones_are_refused(
    install: Install,
) -> None:
    install("my-bench", "flat = mmeval.aggregate.aggregators:median")
    assert plugins.load(GROUP, "flat") is median
    assert "flat" in plugins.names(GROUP)
    for name in ("meen", "other/mean"):
        with pytest.raises(UnknownNameError) as caught:
            plugins.load(GROUP, name)
        assert (caught.value.name, caught.value.what, "mean" in caught.value.known) == (
            name,
            "aggregator",
            True,
        )


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        ("no_such_module:thing", "'no_such_module'"),
        ("mmeval.aggregate.summary:gone", "AttributeError"),
        (
            "broken_plugin:thing",
            "ZeroDivisionError: division by zero (broken_plugin.py:1)",
        ),
    ],
)
def test_a_broken_plugin_is_named_with_its_cause_and_harms_no_other(
    install: Install, value: str, cause: str
) -> None:
    install("my-bench", f"broken = {value}", broken_plugin="1 / 0")
    with pytest.raises(PluginError) as caught:
        plugins.load(GROUP, "broken")
    assert (
        caught.value.name,
        "my-bench" in str(caught.value),
        cause in str(caught.value),
    ) == ("broken", True, True)
    assert plugins.load(GROUP, "mean")
    assert "broken" in plugins.names(GROUP)


def test_a_name_that_two_distributions_claim_is_refused_and_a_distribution_before_it_decides(
    install: Install,
) -> None:
    install("one-bench", MEAN)
    install("other-bench", MEDIAN)
    with pytest.raises(AmbiguousNameError) as caught:
        plugins.load(GROUP, "mine")
    assert (caught.value.name, "one-bench and other-bench" in str(caught.value)) == (
        "mine",
        True,
    )
    for owner in ("other-bench", "other_bench", "Other.Bench"):
        assert plugins.load(GROUP, f"{owner}/mine") is median


def test_a_search_path_that_has_grown_has_the_plugins_of_its_new_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "mine" not in plugins.names(GROUP)
    write_distribution(tmp_path, "my-bench", f"[{GROUP}]\n{MEDIAN}\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    assert "mine" in plugins.names(GROUP)


def test_the_same_claim_seen_twice_is_no_clash(install: Install) -> None:
    for site in ("site", "site2"):
        install("one-bench", MEAN, site)
    assert plugins.load(GROUP, "mine").__name__ == "mean"
    assert [entry.name for entry in plugins.entries(GROUP)].count("mine") == 1


def test_an_import_error_inside_a_package_is_not_its_absence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(
        str(write_files(tmp_path, {"half_installed.py": "import something_is_missing"}))
    )
    with pytest.raises(ModuleNotFoundError, match="something_is_missing"):
        need("half_installed", "audio")
