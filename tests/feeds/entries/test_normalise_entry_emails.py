"""E-mail addresses of authors: kept, left out or hashed, wherever in a person they stand."""

import orjson
import pytest

from headwater.feeds.entries.normalise_entry import Emails, normalise_entry
from headwater.parse.document import Entry, Person

ANN = "438c4c7afe600cdf1e455c369bec76dc970fc8ca463447c7b387a347f3c79331"
"""sha256 of ann@example.org"""


def kept(person: Person, emails: Emails) -> list[dict[str, str | None]]:
    entry = normalise_entry(Entry(uid="1", authors=(person,), contributors=(person,)), "1", emails)
    (author,) = orjson.loads(entry.authors)
    assert orjson.loads(entry.details)["contributors"] == [author]
    return [author]


@pytest.mark.parametrize(
    ("emails", "email"), [("keep", "Ann@Example.org"), ("redact", None), ("hash", ANN)]
)
def test_an_address_is_kept_left_out_or_hashed(emails: Emails, email: str | None) -> None:
    person = Person("Ann", "Ann@Example.org", "https://example.org/ann")
    assert kept(person, emails) == [
        {"name": "Ann", "email": email, "uri": "https://example.org/ann"}
    ]


@pytest.mark.parametrize(
    ("emails", "name", "shown"),
    [
        ("keep", "ann@example.org", "ann@example.org"),
        ("redact", "ann@example.org", None),
        ("hash", "ann@example.org", ANN),
        ("redact", "Bob, ann@example.org", "Bob"),
        ("redact", "Ann <ann@example.org>", "Ann"),
        ("hash", "Bob, ann@example.org", f"Bob, {ANN}"),
        ("redact", "Ann (Bob) (ann@example.org)", "Ann (Bob)"),
        ("redact", "Ann @ home", "Ann @ home"),
        ("redact", "@ann@social.example", "@ann@social.example"),
    ],
)
def test_nor_does_one_stay_in_a_name(emails: Emails, name: str, shown: str | None) -> None:
    assert kept(Person(name, None, None), emails) == [{"name": shown, "email": None, "uri": None}]
