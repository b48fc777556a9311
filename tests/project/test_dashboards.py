"""The dashboard and the alert rules: every metric in them is in a real answer, with its labels."""

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.entrypoints.api.app import create_app
from headwater.entrypoints.api.system.database_metrics import DATABASE_METRICS
from headwater.feeds.fetch.failures import FAULTS, fault_of
from headwater.feeds.metrics import MeasuredVisit, count_visit
from headwater.settings import Settings
from headwater.sinks import sink_rows
from headwater.sinks.sink import NewSink
from tests.support.api_caller import Api
from tests.support.clock import VirtualClock
from tests.support.docs_pages import ROOT, page
from tests.support.engine_parts import EngineParts
from tests.support.promql import NotPromql, selectors
from tests.support.scraped_metrics import Scraped
from tests.support.scripted_engine import ScriptedWeb, an_engine
from tests.support.visit_history import OK, Ledger

DASHBOARD = json.loads((ROOT / "deploy/grafana/headwater.json").read_text("utf-8"))
RULES: list[dict[str, Any]] = [
    rule
    for group in import_module("yaml").safe_load(page("deploy/prometheus/alerts.yml"))["groups"]
    for rule in group["rules"]
]

BY_PROMETHEUS = {"instance", "job", "le"}
"""Labels that Prometheus adds, or that every histogram's buckets have."""


def panels() -> Iterator[dict[str, Any]]:
    for panel in DASHBOARD["panels"]:
        yield panel
        yield from panel.get("panels", ())


EXPRESSIONS = {
    **{
        f"{panel['title']} {target['refId']}": target["expr"]
        for panel in panels()
        for target in panel.get("targets", ())
    },
    **{rule["alert"]: rule["expr"] for rule in RULES},
}


@pytest.fixture
def engine(database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path) -> EngineParts:
    return an_engine(database, virtual_clock, ScriptedWeb(), tmp_path)


async def a_full_answer(engine: EngineParts) -> Scraped:
    """A process that has met everything: every code, a sink, feeds that stand out."""
    ledger = Ledger(engine)
    one = await ledger.subscribe(await ledger.fetcher("alpha"), "https://one.example/feed")
    await ledger.visits(one, [OK, "timeout"], new_entries=1)
    await ledger.count()
    async with engine.database.write() as tx:
        await tx.run("UPDATE feeds SET ewma_sec = 60.0")
        await sink_rows.insert_sink(tx, NewSink("tap", "ndjson", {}, cursor=0), engine.clock.now())
    for code in FAULTS:
        count_visit(MeasuredVisit("failed", code, fault_of(code), 0.1, 0, None, 0, 0, 900.0, False))
    api = Api(create_app(engine.services, Settings()))
    await api.get("/feeds")
    return Scraped((await api.get("/metrics")).body.decode())


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_every_metric_in_an_expression_exists_with_its_labels(engine: EngineParts) -> None:
    seen = await a_full_answer(engine)
    assert {name for name in DATABASE_METRICS if not seen.has(name)} == set()
    wrong = [
        f"{where}: {trouble}"
        for where, expression in EXPRESSIONS.items()
        for trouble in troubles(expression, seen)
    ]
    assert wrong == []
    assert len(EXPRESSIONS) > 50


def troubles(expression: str, seen: Scraped) -> Iterator[str]:
    for selector in selectors(expression):
        if not seen.has(selector.name):
            yield f"there is no {selector.name}"
            continue
        there = seen.labels_of(selector.name)
        labels = {each.split("=")[0] for each in there} | BY_PROMETHEUS
        for label in (selector.matchers.keys() | selector.grouped) - labels:
            yield f"{selector.name} has no label {label}"
        for label, (_, value) in selector.matchers.items():
            if label not in BY_PROMETHEUS:
                yield from (
                    f"{selector.name} has no {label}={each}"
                    for each in value.split("|")
                    if f"{label}={each}" not in there
                )
        if selector.counted_up and not selector.name.endswith(
            ("_total", "_bucket", "_sum", "_count")
        ):
            yield f"{selector.name} does not only grow: no rate of it"


def test_these_tests_can_fail() -> None:
    for broken in (
        "sum(headwater_feeds", "rate(headwater_visits_total)", "sum by (x headwater_feeds)",
        "headwater_feeds[5 minutes]", "frobnicate(headwater_feeds)", "headwater_feeds)",
        "headwater_feeds{state=active}", "1 and headwater_feeds", "topk(headwater_feeds, 3)",
    ):  # fmt: skip
        with pytest.raises(NotPromql):
            selectors(broken)
    seen = Scraped(
        '# TYPE headwater_feeds gauge\nheadwater_feeds{state="active"} 1\n'
        "# TYPE headwater_due gauge\nheadwater_due 1\n"
    )
    assert list(troubles('sum by (state) (headwater_feeds{state="active"})', seen)) == []
    assert list(troubles("headwater_nothing", seen)) == ["there is no headwater_nothing"]
    assert list(troubles('headwater_feeds{state="lost"}', seen)) == [
        "headwater_feeds has no state=lost"
    ]
    assert list(troubles("sum by (host) (headwater_feeds)", seen)) == [
        "headwater_feeds has no label host"
    ]
    assert list(troubles("rate(headwater_due[5m])", seen)) == [
        "headwater_due does not only grow: no rate of it"
    ]


def test_the_five_dashboards_are_there() -> None:
    titles = [panel["title"] for panel in panels() if panel["type"] == "row"]
    assert titles == [
        "Promises",
        "Success, 304, error",
        "Interval chosen beside the gap between posts",
        "Top feeds by new entries",
        "Top error codes and hosts",
        "Bytes saved by conditional GETs",
        "Sinks",
        "The service",
    ]
    (visits,) = [panel for panel in panels() if panel["title"] == "Visits by what they met"]
    assert visits["fieldConfig"]["defaults"]["custom"]["stacking"]["mode"] == "normal"
    assert [target["legendFormat"] for target in visits["targets"]] == [
        "success: a document",
        "304: not modified",
        "error",
    ]


def test_grafana_finds_what_it_needs() -> None:
    ids = [panel["id"] for panel in panels()]
    assert len(ids) == len(set(ids))
    for panel in panels():
        assert {"h", "w", "x", "y"} == set(panel["gridPos"])
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
        for target in panel.get("targets", ()):
            assert target["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    names = [variable["name"] for variable in DASHBOARD["templating"]["list"]]
    assert names == ["datasource", "instance"]


def test_no_two_panels_lie_on_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
def test_an_alert_says_how_bad_it_is_and_what_it_means(rule: dict[str, Any]) -> None:
    assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert rule["annotations"]["summary"].endswith(".")
    assert len(rule["annotations"]["description"]) > 20


def test_every_alert_stands_in_operations_with_what_to_do() -> None:
    text = page("docs/operations.md")
    assert [rule["alert"] for rule in RULES if rule["alert"] not in text] == []
    assert len({rule["alert"] for rule in RULES}) == len(RULES)


def test_the_alerts_cover_what_can_go_wrong() -> None:
    assert {
        "HeadwaterFeedsFailing",
        "HeadwaterNotFresh",
        "HeadwaterSinkLag",
        "HeadwaterDeadLetters",
        "HeadwaterNoVisits",
        "HeadwaterSlowFetches",
    } <= {rule["alert"] for rule in RULES}
