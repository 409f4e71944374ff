"""The site: it is built without a warning, without a network and with the extra
``docs`` alone; every page is reached, and none loads from outside."""

import re
import shlex
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.metadata import requires
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from mmeval.installation import DISTRIBUTION
from tests.soak.support.fresh_environment import (
    ROOT,
    FreshEnvironment,
    closure,
    copy_of_tree,
)

# the first test builds the site, which takes a minute of an idle processor
pytestmark = pytest.mark.timeout(1800)

NO_NETWORK = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
"""Whatever asks for an address outside fails at once."""

LOADING = {
    **dict.fromkeys(("script", "img", "iframe", "source", "video", "audio"), "src"),
    "link": "href",
}
"""The attribute by which an element loads something when the page is opened."""


class Page(HTMLParser):
    """The anchors of a page, where its links lead, and what it loads."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = {""}
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(file.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADING and LOADING[tag] in given:
            self.loads.append(given[LOADING[tag]])


def sphinx_arguments() -> list[str]:
    """The arguments that ``make docs`` passes to Python."""
    (line,) = re.findall(
        r"^\t\$\(BIN\)/python (-m sphinx .*)$",
        (ROOT / "Makefile").read_text(),
        re.MULTILINE,
    )
    return shlex.split(line)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    copy_of_tree(folder)
    return folder


@pytest.fixture(scope="module")
def environment(
    tree: Path, tmp_path_factory: pytest.TempPathFactory
) -> FreshEnvironment:
    """The environment in which ``make docs`` builds: mmeval with the extra ``docs``."""
    needed = closure(requires(DISTRIBUTION) or [], ["docs"])
    environment = FreshEnvironment.create(tmp_path_factory.mktemp("docs") / "venv")
    environment.link({*needed - {DISTRIBUTION}, "setuptools"})
    environment.install("--editable", str(tree))
    return environment


@pytest.fixture(scope="module")
def site(tree: Path, environment: FreshEnvironment) -> dict[Path, Page]:
    """The pages of the site by their file."""
    done = environment.run("python", *sphinx_arguments(), cwd=tree, **NO_NETWORK)
    assert (done.returncode, done.stderr) == (0, "")
    return {
        file: Page(file) for file in sorted((tree / "build" / "docs").rglob("*.html"))
    }


def inner_links(file: Path, page: Page) -> Iterator[tuple[Path, str]]:
    for link in page.links:
        parts = urlsplit(link)
        if not parts.scheme and not parts.netloc:
            yield (
                ((file.parent / unquote(parts.path)).resolve() if parts.path else file),
                unquote(parts.fragment),
            )


def test_every_page_of_the_checkout_is_on_the_site(
    site: dict[Path, Page], tree: Path
) -> None:
    pages = [tree / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    pages += (tree / "docs").rglob("*.md")
    missing = {page.relative_to(tree).with_suffix(".html") for page in pages} - {
        file.relative_to(tree / "build" / "docs") for file in site
    }
    assert missing == set()


def test_every_page_is_reached_from_the_first_one(
    site: dict[Path, Page], tree: Path
) -> None:
    start = tree / "build" / "docs" / "index.html"
    found, waiting = {start}, [start]
    while waiting:
        file = waiting.pop()
        fresh = {
            target for target, _ in inner_links(file, site[file]) if target in site
        } - found
        found |= fresh
        waiting += fresh
    assert {file.name for file in site.keys() - found} <= {"search.html"}


def test_links_and_anchors_lead_somewhere(site: dict[Path, Page]) -> None:
    broken = [
        f"{file.name}: {target.name}#{anchor}"
        for file, page in site.items()
        for target, anchor in inner_links(file, page)
        if not target.is_file()
        or (target in site and anchor not in site[target].anchors)
    ]
    assert broken == []


def test_no_page_and_no_style_loads_anything_from_outside(
    site: dict[Path, Page], tree: Path
) -> None:
    loads = [load for page in site.values() for load in page.loads]
    styles = (tree / "build" / "docs").rglob("*.css")
    assert loads
    assert [load for load in loads if urlsplit(load).netloc] == []
    assert [
        file.name
        for file in styles
        if re.search(r"url\([\"']?(?:https?:)?//|@import", file.read_text())
    ] == []
