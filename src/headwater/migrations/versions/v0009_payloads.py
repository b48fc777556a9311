"""Which payloads are still referred to: looked up by their content, not by where they are kept."""

from alembic import op
from sqlalchemy import text

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    living = text("expired_at IS NULL")
    op.create_index(
        "raw_fetches_living",
        "raw_fetches",
        ["body_sha256"],
        sqlite_where=living,
        postgresql_where=living,
    )
    op.drop_index("raw_fetches_by_blob", "raw_fetches")


def downgrade() -> None:
    op.create_index("raw_fetches_by_blob", "raw_fetches", ["blob_key"])
    op.drop_index("raw_fetches_living", "raw_fetches")
