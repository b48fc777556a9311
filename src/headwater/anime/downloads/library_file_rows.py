"""Rows of library files: each is written before the file is touched, and again when it is done."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from headwater.anime.downloads.download_rows import (
    FILE_COLUMNS,
    LibraryFile,
    LibraryFileState,
    library_file_from_row,
)
from headwater.anime.naming.safe_path import collision_key
from headwater.anime.shows.slot import Slot
from headwater.anime.stored_json import encode_slots
from headwater.core.ports import Transaction
from headwater.core.values.instant import to_micros


@dataclass(frozen=True, slots=True)
class NewLibraryFile:
    """A file of the downloads, and the path that it will have in the library."""

    source: str
    path: str
    length: int
    slots: tuple[Slot, ...]


async def upsert_library_files(
    tx: Transaction, download_id: int, files: Sequence[NewLibraryFile]
) -> list[LibraryFile]:
    """Write down files before any of them is touched. A repeat keeps the paths that were chosen
    first."""
    again = "library_files.state IN ('recycled', 'left', 'leaving')"
    await tx.run_many(
        "INSERT INTO library_files (download_id, source, path, path_key, length, mark, slots,"
        " state) VALUES (?, ?, ?, ?, ?, '', ?, 'wanted')"
        " ON CONFLICT (download_id, source) DO UPDATE SET"
        f" path = CASE WHEN {again} THEN excluded.path ELSE library_files.path END,"
        f" path_key = CASE WHEN {again} THEN excluded.path_key ELSE library_files.path_key END,"
        f" mark = CASE WHEN {again} THEN '' ELSE library_files.mark END,"
        f" gone_at = CASE WHEN {again} THEN NULL ELSE library_files.gone_at END,"
        " slots = excluded.slots, length = excluded.length,"
        f" state = CASE WHEN {again} THEN 'wanted' ELSE library_files.state END",
        [
            (
                download_id,
                each.source,
                each.path,
                collision_key(each.path),
                each.length,
                encode_slots(each.slots),
            )
            for each in files
        ],
    )
    rows = await tx.rows(
        f"SELECT {FILE_COLUMNS} FROM library_files WHERE download_id = ? ORDER BY id", download_id
    )
    sources = {file.source for file in files}
    return [library_file_from_row(row) for row in rows if row.source in sources]


async def delete_wanted_files(tx: Transaction, file_ids: Sequence[int]) -> None:
    """Delete those of them that never came into the library: another path is chosen for them."""
    await tx.run_many(
        "DELETE FROM library_files WHERE id = ? AND state = 'wanted'",
        [(file_id,) for file_id in file_ids],
    )


async def mark_files_placed(
    tx: Transaction, files: Sequence[tuple[int, str]], now: datetime
) -> None:
    """`files` are pairs of id and mark."""
    await tx.run_many(
        "UPDATE library_files SET state = 'placed', mark = ?, placed_at = ?, gone_at = NULL,"
        " recycled_to = NULL WHERE id = ?",
        [(mark, to_micros(now), file_id) for file_id, mark in files],
    )


async def mark_files_leaving(
    tx: Transaction, file_ids: Sequence[int], state: LibraryFileState, now: datetime
) -> None:
    """`state` is `leaving` or `switching`. A repeat does not change since when they are to go."""
    await tx.run_many(
        "UPDATE library_files SET state = ?, gone_at = coalesce(gone_at, ?) WHERE id = ?",
        [(state, to_micros(now), file_id) for file_id in file_ids],
    )


async def mark_file_gone(
    tx: Transaction, file_id: int, state: LibraryFileState, recycled_to: str | None, now: datetime
) -> None:
    """`state` is `recycled`, or `left` where the file was not ours to take."""
    await tx.run(
        "UPDATE library_files SET state = ?, recycled_to = ?, gone_at = coalesce(gone_at, ?)"
        " WHERE id = ?",
        state,
        recycled_to,
        to_micros(now),
        file_id,
    )
