"""Counters of one process: they know everything a visit can be, and cost next to nothing."""

import ast
import time
from pathlib import Path

from headwater.core.values.latency import BOUNDS_MS
from headwater.feeds import judge_visit, metrics
from headwater.feeds.metrics import (
    MeasuredVisit,
    count_dropped_visit,
    count_visit,
    observe_commit,
)
from headwater.feeds.read_document import DEADLY
from tests.support.scraped_metrics import own_figures

FETCHED = MeasuredVisit("fetched", None, "", 0.2, 3_000, 9_000, 2, 1, 900.0, True)


def test_every_outcome_there_is_can_be_counted() -> None:
    """Their names are the first words of each summary of an outcome."""
    tree = ast.parse(Path(str(judge_visit.__file__)).read_text())
    named = {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "OutcomeSummary"
        and isinstance(node.args[0], ast.Constant)
    }
    assert named == set(metrics.OUTCOMES)
    assert set(metrics.DEADLY) == DEADLY


def test_one_visit_moves_what_it_brought() -> None:
    before = own_figures()
    count_visit(FETCHED)
    grown = own_figures().since(before)
    assert grown["headwater_visits_total", "outcome=fetched"] == 1
    assert grown["headwater_received_bytes_total",] == 3_000
    assert grown["headwater_decoded_bytes_total",] == 9_000
    assert grown["headwater_new_entries_total",] == 2
    assert grown["headwater_updated_entries_total",] == 1
    assert grown["headwater_retries_total",] == 1
    assert grown["headwater_fetch_duration_seconds_bucket", "le=0.25"] == 1
    assert ("headwater_fetch_duration_seconds_bucket", "le=0.1") not in grown
    assert grown["headwater_interval_seconds_bucket", "le=900.0"] == 1


def test_a_document_that_killed_its_parser_is_counted_as_that_too() -> None:
    before = own_figures()
    code = "parser_crashed"
    count_visit(
        FETCHED._replace(outcome="unreadable", error=code, fault="ours", decoded_bytes=None)
    )
    grown = own_figures().since(before)
    assert grown["headwater_parser_deaths_total", f"code={code}"] == 1
    assert grown["headwater_visit_errors_total", f"code={code}", "fault=ours"] == 1
    assert ("headwater_decoded_bytes_total",) not in grown


def test_commits_and_lost_visits() -> None:
    before = own_figures()
    observe_commit("archive", 40)
    count_dropped_visit("refused")
    grown = own_figures().since(before)
    assert grown["headwater_commit_group_size_sum", "commit=archive"] == 40
    assert grown["headwater_commit_group_size_bucket", "commit=archive", "le=64.0"] == 1
    assert grown["headwater_visits_dropped_total", "why=refused"] == 1


def test_the_buckets_are_those_of_the_sums() -> None:
    bounds = own_figures().labels_of("headwater_fetch_duration_seconds_bucket")
    assert bounds == {"le=+Inf", *(f"le={bound / 1000}" for bound in BOUNDS_MS)}


def test_a_visit_costs_a_few_microseconds() -> None:
    """Far from a limit on any machine: a mistake here would be a hundred times as slow."""
    began = time.process_time()
    for _ in range(5_000):
        count_visit(FETCHED)
    assert (time.process_time() - began) / 5_000 < 200e-6
