"""What every test of the console in a browser does: go to a view, add a feed, look at a part."""

import json
import urllib.request
from typing import Any

from playwright.sync_api import Page, expect

from tests.support.logins import bearer
from tests.support.service import Service


def post(service: Service, path: str, said: Any, token: str | None = None) -> Any:
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = bearer(token)
    asked = urllib.request.Request(service.url + path, json.dumps(said).encode(), headers)
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return json.loads(answer.read())


def heading(page: Page, text: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(text)


def go(page: Page, name: str) -> None:
    page.get_by_role("navigation").get_by_role("link", name=name).click()
    heading(page, name)


def add(page: Page, url: str) -> None:
    page.get_by_label("Add a feed, or a page that links to feeds").fill(url)
    page.get_by_role("button", name="Add", exact=True).click()


def part(page: Page, name: str) -> Any:
    named = page.get_by_role("heading", name=name, level=2)
    return page.locator("section").filter(has=named)
