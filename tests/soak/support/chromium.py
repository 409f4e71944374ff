"""A real Chromium for tests of the report page, and a page of it that remembers
everything that must not happen."""

import base64
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Dialog,
    Frame,
    Locator,
    Page,
    expect,
    sync_playwright,
)

from tests.support.cli import DEADLINE

Theme = Literal["light", "dark"]
DEADLINE_MS = 1000 * DEADLINE
expect.set_options(timeout=DEADLINE_MS)
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = (
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--autoplay-policy=no-user-gesture-required",
    "--mute-audio",
)
TRIPWIRE = """
    window.__pwned = [];
    for (const name of ["alert", "confirm", "prompt", "print", "open"]) window[name] = () => window.__pwned.push(name);
    const getContext = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind, options) {
        return getContext.call(this, kind, { ...options, preserveDrawingBuffer: true });
    };
"""
"""What a script of the data could do first leaves a note; and a test can read what a
canvas shows."""
_CHECKS = (
    Path(__file__)
    .with_name("page_checks.js")
    .read_text(encoding="utf-8")
    .partition("\n")[2]
)


def executable() -> str:
    """Where Chromium is. Without one a test is skipped, and fails where ``CI`` is
    set."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is not None:
        return found
    message = "no Chromium on PATH: apt-get install chromium"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@contextmanager
def chromium() -> Iterator[Browser]:
    path = executable()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


@dataclass
class Watched:
    """A page, until the block ends: what it complained of, asked for beside files, and
    where it tried to go."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    travels: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.page.context.close()

    def open(self, index: Path, hash_: str = "") -> Page:
        self.page.goto(index.as_uri() + hash_)
        return self.page

    def is_calm(self) -> bool:
        """Whether nothing went wrong and nothing got out."""
        ran = self.page.evaluate("window.__pwned")
        assert (self.complaints, self.requests, self.travels, self.dialogs, ran) == (
            [],
            [],
            [],
            [],
            [],
        )
        return True


def watched(
    browser: Browser,
    *,
    width: int = 1280,
    height: int = 800,
    theme: Theme = "light",
    touch: bool = False,
) -> Watched:
    """A new page of the given size and theme."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=theme, has_touch=touch
    )
    context.set_default_timeout(DEADLINE_MS)
    context.add_init_script(TRIPWIRE)
    page = context.new_page()
    seen = Watched(page)

    def heard(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and "GPU stall" not in message.text:
            seen.complaints.append(message.text)

    def moved(frame: Frame) -> None:
        if not frame.url.startswith("about:") and "/index.html" not in frame.url:
            seen.travels.append(frame.url)

    def asked(dialog: Dialog) -> None:
        seen.dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("console", heard)
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith("file:")
            else seen.requests.append(request.url)
        ),
    )
    page.on("popup", lambda popup: seen.travels.append(popup.url))
    page.on("framenavigated", moved)
    page.on("dialog", asked)
    return seen


def settled(page: Page) -> Page:
    """The page when all that was to be shown is laid out."""
    expect(page.locator(".loading")).to_have_count(0)
    _next_frames(page)
    return page


def _next_frames(page: Page) -> None:
    page.evaluate(
        "new Promise((done) => requestAnimationFrame(() => "
        "requestAnimationFrame(done)))"
    )


def check(page: Page, name: str) -> list[Any]:
    """What a function of ``page_checks.js`` finds on a page."""
    found: list[Any] = page.evaluate(f"({_CHECKS.rstrip().rstrip(';')}).{name}()")
    return found


def drawn(canvas: Locator) -> bytes:
    """The pixels of a canvas, as a PNG."""
    _next_frames(canvas.page)
    return base64.b64decode(
        canvas.evaluate("canvas => canvas.toDataURL()").partition(",")[2]
    )
