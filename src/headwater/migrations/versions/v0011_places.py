"""Where else an item stands is asked at every edit of an entry, out of all categories."""

from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_index("personal_items_places", "personal_items", ["caller_key"])


def downgrade() -> None:
    op.drop_index("personal_items_places", "personal_items")
