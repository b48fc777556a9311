"""The surface is printed, and what it shows is what somebody would see."""

import pytest

from tests.project import surface
from tests.support.source_strings import LoggedLine, logged_lines
from tests.support.source_tree import Module


@pytest.mark.parametrize("title", surface.PARTS)
def test_a_part_of_the_surface_is_not_empty(title: str) -> None:
    assert "".join(surface.PARTS[title]()).strip()


def test_a_part_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing() -> list[str]:
        raise LookupError("it is gone")

    monkeypatch.setattr(surface, "PARTS_OF_A_SERVICE", {})
    monkeypatch.setattr(surface, "PARTS", {"settings": failing})
    with pytest.raises(LookupError) as trouble:
        surface.main()
    assert trouble.value.__notes__ == ["The part that failed: settings"]


def test_a_part_that_is_empty_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surface, "PARTS_OF_A_SERVICE", {})
    monkeypatch.setattr(surface, "PARTS", {"settings": list})
    with pytest.raises(SystemExit, match="The part that is empty: settings"):
        surface.main()


def test_a_new_name_of_a_schema_shows_in_the_list_of_names_alone() -> None:
    before, after = surface.OpenApi(_page("FeedOut")), surface.OpenApi(_page("FeedRecord"))
    assert list(before.document()) == list(after.document())
    assert list(before.schemas()) == list(after.schemas())
    [name_before], [name_after] = before.schema_names(), after.schema_names()
    assert name_before.split()[1] == "FeedOut"
    assert name_after.split()[1] == "FeedRecord"


def test_a_new_field_of_a_schema_shows_where_it_is_used() -> None:
    before = surface.OpenApi(_page("FeedRecord"))
    after = surface.OpenApi(_page("FeedRecord", url={"type": "string"}))
    assert list(before.document()) != list(after.document())
    assert '"url"' in "".join(after.schemas())


def _page(name: str, **fields: object) -> surface.Record:
    schema = {"title": name, "properties": {"id": {"type": "integer"}, **fields}}
    return {
        "paths": {"/feeds": {"get": {"$ref": f"#/components/schemas/{name}"}}},
        "components": {"schemas": {name: schema}},
    }


def test_a_line_of_the_log_is_shown_with_its_logger_wherever_that_is_made() -> None:
    sinks = Module(
        "sinks/sink.py",
        """
logger = get_logger("sinks")
def tell(dead):
    say = logger.error if dead else logger.warning
    say("dead_letter" if dead else "sink_failed", sink=1)
""",
    )
    outbox = Module(
        "sinks/outbox.py",
        """
from headwater.sinks.sink import logger as sink_logger
class Outbox:
    def __init__(self, name):
        self._log = get_logger(name)
    def deliver(self, facts):
        self._log.info("delivered", **facts)
        sink_logger.debug("asked")
        _level(facts)("answered")
        self.events.info("this is no line of the log")
def _level(facts):
    return sink_logger.debug
""",
    )
    assert sorted(logged_lines([sinks, outbox])) == [
        LoggedLine("sinks", "debug", "answered", ()),
        LoggedLine("sinks", "debug", "asked", ()),
        LoggedLine("sinks", "error", "dead_letter", ("sink",)),
        LoggedLine("sinks", "error", "sink_failed", ("sink",)),
        LoggedLine("sinks", "warning", "dead_letter", ("sink",)),
        LoggedLine("sinks", "warning", "sink_failed", ("sink",)),
        LoggedLine("{name}", "info", "delivered", ("**",)),
    ]
