"""Every record that is made from a noun by attribute can be made from that noun."""

from typing import Any

import pytest

from headwater.auth.tokens import ApiToken
from headwater.entrypoints.api.app import ROUTES
from headwater.entrypoints.api.records import NounRecord
from headwater.entrypoints.api.subscriptions.group_records import (
    ActionResultRecord,
    ChangedGroupRecord,
    DissolvedRecord,
    GroupRecord,
    RefusedMemberRecord,
)
from headwater.entrypoints.api.system.tokens import NewTokenRecord, TokenRecord
from headwater.subscriptions.groups.apply_group_values import RefusedMember
from headwater.subscriptions.groups.group import Group, GroupValues
from headwater.subscriptions.groups.group_commands import MemberResult
from tests.entrypoints.api import record_samples
from tests.support.clock import START

GROUP = Group(
    id=7,
    name="News",
    description=None,
    shared=GroupValues(fetch_interval_minutes=60, categories=("news",)),
    spreading=None,
    has_credentials=True,
    members=3,
    created_at=START,
    updated_at=START,
)
TOKEN = ApiToken(4, "phone", "read", START, None, None)
REFUSED = RefusedMember(12, "a is not known")

SAMPLES: list[record_samples.RecordSample] = [
    *record_samples.SAMPLES,
    (
        GroupRecord,
        GROUP,
        {},
        {"group_id": 7, "fetch_interval_minutes": 60, "priority": None, "categories": ["news"]},
    ),
    (
        ChangedGroupRecord,
        GROUP,
        {"members_changed": 1, "members_unchanged": 2, "refused": [REFUSED]},
        {
            "group_id": 7,
            "members_changed": 1,
            "refused": [{"subscription_id": 12, "message": "a is not known"}],
        },
    ),
    (TokenRecord, TOKEN, {}, {"id": 4, "scope": "read", "revoked_at": None}),
    (NewTokenRecord, TOKEN, {"token": "hw_x"}, {"id": 4, "name": "phone", "token": "hw_x"}),
    (RefusedMemberRecord, REFUSED, {}, {"subscription_id": 12, "message": "a is not known"}),
    (DissolvedRecord, GROUP, {}, {"group_id": 7, "name": "News", "subscriptions_kept": 3}),
    (
        ActionResultRecord,
        MemberResult(12, error="too_soon", retry_after_sec=4.0),
        {},
        {"subscription_id": 12, "done": False, "error": "too_soon", "retry_after_sec": 4.0},
    ),
]


@pytest.mark.parametrize(
    ("record", "noun", "more", "shown"), SAMPLES, ids=[sample[0].__name__ for sample in SAMPLES]
)
def test_a_record_is_made_from_its_noun(
    record: type[NounRecord], noun: object, more: dict[str, Any], shown: dict[str, Any]
) -> None:
    fields = record.of(noun, **more).model_dump(mode="json")
    assert fields.keys() == record.model_fields.keys()
    assert {name: fields[name] for name in shown} == shown


def subclasses(base: type[NounRecord]) -> set[type[NounRecord]]:
    direct = set(base.__subclasses__())
    return direct.union(*(subclasses(each) for each in direct))


def test_every_such_record_has_a_sample() -> None:
    assert ROUTES, "importing the app imports every record"
    assert {sample[0] for sample in SAMPLES} == subclasses(NounRecord)
