"""Releases: shows, what is collected of them, every decision, downloads and the library's files.

Nothing here is forgotten when its feed goes: what was downloaded stays known.
"""

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Text,
    UniqueConstraint,
    text,
)

revision = "0008"
down_revision = "0007"

BIG = BigInteger().with_variant(Integer, "sqlite")


def upgrade() -> None:
    _shows()
    _trackings()
    _releases()
    _gaps()
    _downloads()
    _files()


def _shows() -> None:
    """`titles` and `specials` are JSON. `air_weekday`: 0 is Monday."""
    op.create_table(
        "shows",
        Column("id", BIG, primary_key=True, autoincrement=True),
        Column("title", Text, nullable=False),
        Column("year", Integer),
        Column("season", Integer, nullable=False),
        Column("episode_offset", Integer, nullable=False),
        Column("episodes", Integer),
        Column("titles", Text, nullable=False),
        Column("kind", Text),
        Column("specials", Text, nullable=False),
        Column("air_weekday", Integer),
        Column("created_at", BigInteger, nullable=False),
        Column("updated_at", BigInteger, nullable=False),
        UniqueConstraint("title", "season", "year", name="shows_once"),
        sqlite_autoincrement=True,
    )


def _trackings() -> None:
    """`feed_id` is the feed's public id: a feed that is gone for good takes no tracking with it.
    `since`: what came out before is not collected; null: everything is. `caught_up` is the
    `updated_at` for which every entry that is kept was looked at. `removed_at`: it collects nothing
    any more, and what it decided stays known."""
    op.create_table(
        "trackings",
        Column("id", BIG, primary_key=True, autoincrement=True),
        Column("show_id", BigInteger, ForeignKey("shows.id", ondelete="CASCADE"), nullable=False),
        Column("feed_id", Text, nullable=False),
        Column("preferences", Text, nullable=False),
        Column("include", Text, nullable=False),
        Column("exclude", Text, nullable=False),
        Column("packs", Boolean, nullable=False),
        Column("save_path", Text, nullable=False),
        Column("enabled", Boolean, nullable=False),
        Column("since", BigInteger),
        Column("created_at", BigInteger, nullable=False),
        Column("updated_at", BigInteger, nullable=False),
        Column("caught_up", BigInteger),
        Column("removed_at", BigInteger),
        UniqueConstraint("show_id", "feed_id", name="trackings_once"),
        sqlite_autoincrement=True,
    )
    op.create_index("trackings_feed", "trackings", ["feed_id"])


def _releases() -> None:
    """One row for every entry that a tracking ever looked at, and what was decided, and why."""
    op.create_table(
        "releases",
        Column("id", BIG, primary_key=True, autoincrement=True),
        Column(
            "tracking_id",
            BigInteger,
            ForeignKey("trackings.id", ondelete="CASCADE"),
            nullable=False,
        ),
        Column("uid_key", LargeBinary, nullable=False),
        Column("title", Text, nullable=False),
        Column("infohash", Text),
        Column("candidate", Text, nullable=False),
        Column("release", Text, nullable=False),
        Column("slots", Text, nullable=False),
        Column("action", Text, nullable=False),
        Column("rule", Text, nullable=False),
        Column("reason", Text, nullable=False),
        Column("found_at", BigInteger, nullable=False),
        Column("decided_at", BigInteger, nullable=False),
        UniqueConstraint("tracking_id", "uid_key", name="releases_once"),
        sqlite_autoincrement=True,
    )
    op.create_index("releases_action", "releases", ["tracking_id", "action", "id"])
    # What waits for a person is counted often, and is little.
    held = text("action = 'hold'")
    op.create_index("releases_held", "releases", ["id"], sqlite_where=held, postgresql_where=held)


def _gaps() -> None:
    """Episodes that were told to be missing, each once for as long as it is."""
    op.create_table(
        "gaps",
        Column("show_id", BigInteger, ForeignKey("shows.id", ondelete="CASCADE"), nullable=False),
        Column("season", Integer, nullable=False),
        Column("episode", Integer, nullable=False),
        Column("told_at", BigInteger, nullable=False),
        PrimaryKeyConstraint("show_id", "season", "episode"),
    )


def _downloads() -> None:
    """`next_step_at` is the end of a worker's lease, or of a pause; null when nothing is left to
    do. `holder` is who has the lease; `fence` grows with every claim. `replaces` is JSON: which
    slots it takes from which. `ends_as`: what one that is `retiring` will be."""
    op.create_table(
        "downloads",
        Column("id", BIG, primary_key=True, autoincrement=True),
        Column("show_id", BigInteger, ForeignKey("shows.id", ondelete="CASCADE"), nullable=False),
        Column(
            "release_id",
            BigInteger,
            ForeignKey("releases.id", ondelete="CASCADE"),
            nullable=False,
            unique=True,
        ),
        Column("state", Text, nullable=False),
        Column("infohash", Text),
        Column("torrent", LargeBinary),
        Column("magnet", Text),
        Column("save_path", Text, nullable=False),
        Column("slots", Text, nullable=False),
        Column("replaces", Text, nullable=False),
        Column("attempts", Integer, nullable=False),
        Column("error", Text),
        Column("detail", Text),
        Column("size", BigInteger),
        Column("progress", Integer, nullable=False),
        Column("progressed_at", BigInteger),
        Column("ends_as", Text),
        Column("holder", Text),
        Column("fence", BigInteger, nullable=False),
        Column("next_step_at", BigInteger),
        Column("intended_at", BigInteger, nullable=False),
        Column("added_at", BigInteger),
        Column("completed_at", BigInteger),
        Column("linked_at", BigInteger),
        Column("ended_at", BigInteger),
        Column("updated_at", BigInteger, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("downloads_next", "downloads", ["next_step_at"])
    op.create_index("downloads_show", "downloads", ["show_id", "state"])
    op.create_index("downloads_hash", "downloads", ["infohash"])


def _files() -> None:
    """`path` is relative to the library; `path_key` is the same for paths that some file system
    takes for one. A row is there before the file is, and says what became of it. `mark` tells our
    file from another one in its place."""
    op.create_table(
        "library_files",
        Column("id", BIG, primary_key=True, autoincrement=True),
        Column(
            "download_id",
            BigInteger,
            ForeignKey("downloads.id", ondelete="CASCADE"),
            nullable=False,
        ),
        Column("source", Text, nullable=False),
        Column("path", Text, nullable=False),
        Column("path_key", Text, nullable=False),
        Column("length", BigInteger, nullable=False),
        Column("mark", Text, nullable=False),
        Column("slots", Text, nullable=False),
        Column("state", Text, nullable=False),
        Column("recycled_to", Text),
        Column("placed_at", BigInteger),
        Column("gone_at", BigInteger),
        UniqueConstraint("download_id", "source", name="library_files_once"),
        sqlite_autoincrement=True,
    )
    op.create_index("library_files_path", "library_files", ["path_key"])


def downgrade() -> None:
    op.execute("DELETE FROM sinks WHERE kind = 'releases'")
    for table in ("library_files", "downloads", "gaps", "releases", "trackings", "shows"):
        op.drop_table(table)
