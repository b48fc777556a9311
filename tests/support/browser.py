"""A real browser for tests: Debian's chromium, driven by playwright; everything that goes wrong is
kept.

with running_browser() as browser:              # ProgramMissing where there is none
    with opened(browser, url) as seen:          # logs in with opened(browser, url, token=…)
        seen.page.get_by_role(…)
    # on leaving, nothing may have gone wrong: no error, no violation, no dialog of a page
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Response, sync_playwright

from tests.support.servers import ServerMissing

ARGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WITHIN = 60_000.0

WATCHED = """
window.violations = [];
document.addEventListener('securitypolicyviolation', (told) => {
  window.violations.push(`${told.violatedDirective} ${told.blockedURI}`);
});
"""


class BrowserMissing(ServerMissing):
    """There is no browser on this machine; the text says how to get one."""


@dataclass
class Seen:
    """A page, and all it complained of. `refused` are answers of 400 and more."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def said(self, message: ConsoleMessage) -> None:
        # Chromium notes each refused request by itself: those are looked at in `refused`.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)

    def asked(self, dialog: Dialog) -> None:
        self.complaints.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def answered(self, response: Response) -> None:
        if response.status >= 400:
            self.refused.append(f"{response.status} {response.request.method} {response.url}")


@contextmanager
def running_browser() -> Iterator[Browser]:
    program = shutil.which("chromium")
    if program is None:
        raise BrowserMissing("There is no chromium here; make browser-for-tests installs it.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Browser, url: str, token: str | None = None) -> Iterator[Seen]:
    """The console in a window of its own, with nothing remembered."""
    login = {"username": "anybody", "password": token} if token else None
    context = browser.new_context(http_credentials=login)  # type: ignore[arg-type]
    context.set_default_timeout(WITHIN)
    context.add_init_script(WATCHED)
    page = context.new_page()
    seen = Seen(page)
    page.on("console", seen.said)
    page.on("pageerror", lambda trouble: seen.complaints.append(str(trouble)))
    page.on("dialog", seen.asked)
    page.on("response", seen.answered)
    try:
        page.goto(url)
        yield seen
        assert page.evaluate("window.violations") == []
        assert seen.complaints == []
    finally:
        context.close()
