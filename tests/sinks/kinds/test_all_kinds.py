"""The kinds of sinks there are, and what is refused before anything is opened."""

from functools import partial
from pathlib import Path

import pytest

from headwater.adapters.blobs import FolderBlobs
from headwater.core.errors import BadInput
from headwater.settings.sinks import SINK_KINDS
from headwater.sinks.kinds.all_kinds import KINDS, build_kinds
from headwater.sinks.kinds.ndjson import NdjsonSink
from headwater.sinks.kinds.options import SinkOptions
from headwater.sinks.kinds.webhook import WebhookSink
from headwater.sinks.ports import SinkConfig
from headwater.sinks.sink import SinkDefinition
from headwater.sinks.sink_kind import SinkKind, SinkKinds, SinkResources, check_no_options
from headwater.web.limits import WebLimits
from tests.support.clock import VirtualClock
from tests.support.ndjson import NoDatabase, names_in
from tests.support.site import LOOPBACK

LEAST = {
    "webhook": {"url": "http://127.0.0.1:9/"},
    "ndjson": {},
    "redis": {"url": "redis://127.0.0.1"},
    "nats": {"url": "nats://127.0.0.1"},
}


@pytest.fixture
async def outlets(tmp_path: Path) -> SinkKinds:
    resources = SinkResources(
        web_limits=WebLimits(),
        address=LOOPBACK,
        clock=VirtualClock(),
        user_agent="Headwater/test",
        database=NoDatabase(),
        blobs=FolderBlobs(tmp_path / "blobs"),
        out_dir=tmp_path / "out",
    )
    own = SinkKind(
        check=partial(check_no_options, "own"),
        open=build_kinds(resources)["redis"].open,
        own_task="tidies up",
    )
    return SinkKinds({**build_kinds(resources), "own": own})


def test_every_kind_has_an_example_here() -> None:
    assert set(KINDS) == LEAST.keys()


@pytest.mark.parametrize("kind", KINDS)
async def test_checking_and_opening_touch_nothing(
    outlets: SinkKinds, kind: str, tmp_path: Path
) -> None:
    plan = outlets.checked(SinkConfig("name", kind, LEAST[kind], {}))
    assert (plan.name, plan.kind) == ("name", kind)
    assert outlets.checked(plan) == plan
    outlet = await outlets.open(plan)
    assert isinstance(outlet, WebhookSink) is (kind == "webhook")
    assert isinstance(outlet, NdjsonSink) is (kind == "ndjson")
    await outlet.close()
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("kind", ["", "kafka", "Webhook", "x" * 10_000])
async def test_an_unknown_kind_is_refused_with_those_that_there_are(
    outlets: SinkKinds, kind: str
) -> None:
    plan = SinkConfig("name", kind, {}, {})
    with pytest.raises(BadInput) as refusal:
        outlets.checked(plan)
    known = ["webhook", "ndjson", "redis", "nats"]
    assert refusal.value.facts == {"field": "kind", "known": known}
    assert len(refusal.value.message) < 300
    with pytest.raises(BadInput):
        await outlets.open(plan)


async def test_a_kind_of_our_own_has_no_options(outlets: SinkKinds) -> None:
    assert outlets.checked(SinkConfig("own", "own", {}, {})) == SinkConfig("own", "own", {}, {})
    with pytest.raises(BadInput) as refusal:
        outlets.checked(SinkConfig("own", "own", {"speed": 1}, {}))
    assert refusal.value.message == "The own option 'speed' is unknown."
    assert refusal.value.facts == {"field": "speed"}


async def test_only_webhooks_are_signed_and_only_they_give_up_on_an_event(
    outlets: SinkKinds,
) -> None:
    kinds = ("webhook", "ndjson", "redis", "nats", "own", "of a later version")
    assert [outlets.is_signed(kind) for kind in kinds] == [True] + [False] * 5
    tries = [outlets.attempts_of(SinkDefinition("name", kind)) for kind in kinds]
    assert tries == [36] + [None] * 5
    assert outlets.attempts_of(SinkDefinition("name", "webhook", max_attempts=None)) is None
    assert [outlets.own_task(kind) for kind in kinds] == [None] * 4 + ["tidies up", None]


def test_null_is_the_same_as_not_said() -> None:
    given = SinkOptions("x", {"a": None, "b": None, "c": None, "d": None, "e": None})
    assert given.text("a", "usual") == "usual"
    assert given.flag("b", True) is True
    assert given.choice("c", "one", ("one", "two")) == "one"
    assert given.number("d", 3.0, least=1, most=5) == 3.0
    assert given.maybe_text("e") is None
    given.refuse_others()


def test_null_lifts_a_limit() -> None:
    assert SinkOptions("x", {"n": None}).maybe_whole("n", 5, least=1, most=9) is None
    assert SinkOptions("x", {}).maybe_whole("n", 5, least=1, most=9) == 5
    assert SinkOptions("x", {"n": 7}).maybe_whole("n", 5, least=1, most=9) == 7
    for wrong in (0, 10, 7.0, True, "7"):
        with pytest.raises(BadInput):
            SinkOptions("x", {"n": wrong}).maybe_whole("n", 5, least=1, most=9)


def test_a_mistyped_option_is_told_with_those_that_there_are() -> None:
    given = SinkOptions("webhook", {"urll": "x"})
    given.maybe_text("url")
    with pytest.raises(BadInput) as refusal:
        given.refuse_others()
    assert refusal.value.message == "The webhook option 'urll' is unknown; there are: url."
    assert refusal.value.facts == {"field": "urll"}


def test_the_settings_name_every_kind_that_people_make() -> None:
    assert tuple(KINDS) == SINK_KINDS
