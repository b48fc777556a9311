"""All sink kinds in one table: those that people make, and Headwater's own."""

from headwater.anime.decide.policy import ReleasePolicy
from headwater.anime.decide.release_sink import RELEASES, release_kind
from headwater.personal_feeds.items_from_entries import EntryItemPolicy
from headwater.personal_feeds.own_sink import PERSONAL, personal_kind
from headwater.personal_feeds.ports import PersonalStore
from headwater.sinks.kinds.all_kinds import build_kinds
from headwater.sinks.sink_kind import SinkKinds, SinkResources


def build_sink_kinds(
    resources: SinkResources,
    personal: PersonalStore,
    *,
    entry_items: EntryItemPolicy,
    releases: ReleasePolicy,
) -> SinkKinds:
    database, clock = resources.database, resources.clock
    own_kinds = {
        PERSONAL: personal_kind(personal, database, clock, entry_items),
        RELEASES: release_kind(database, clock, releases),
    }
    return SinkKinds({**build_kinds(resources), **own_kinds})
