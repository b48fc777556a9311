"""Records of downloads: how far each is, what is wrong, and its files in the library."""

from typing import Literal

from pydantic import Field

from headwater.collect.download import Download, Loss, State
from headwater.collect.downloads.queries import FileState, LibraryFile
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.release_records import SlotRecord


class LossRecord(Record):
    """Places that another download lost to this one. `whole`: it had no others."""

    download_id: int
    slots: list[SlotRecord]
    whole: bool

    @classmethod
    def of(cls, loss: Loss) -> "LossRecord":
        slots = [SlotRecord.of(slot) for slot in loss.slots]
        return cls(download_id=loss.download_id, slots=slots, whole=loss.is_whole)


class LibraryFileRecord(Record):
    """A file in the library, or one that was there."""

    path: str = Field(description="Below the library.")
    length: int
    slots: list[SlotRecord]
    state: FileState
    recycled_to: str | None = Field(description="Where it is now, when it was replaced.")

    @classmethod
    def of(cls, file: LibraryFile) -> "LibraryFileRecord":
        return cls(
            path=file.path,
            length=file.length,
            slots=[SlotRecord.of(slot) for slot in file.slots],
            state=file.state,
            recycled_to=file.recycled_to,
        )


class DownloadRecord(Record):
    """A release on its way to the library, in it, or out of it. `error` and `detail` say why the
    last step did not succeed, `attempts` how often; `next_step_at` is when it is tried again."""

    id: int
    show_id: int
    release_id: int
    title: str
    state: State
    slots: list[SlotRecord]
    infohash: str | None
    size: int | None
    progress: float = Field(description="From 0 to 1.")
    attempts: int
    error: str | None
    detail: str | None
    replaces: list[LossRecord]
    intended_at: Moment
    added_at: Moment | None
    completed_at: Moment | None
    linked_at: Moment | None
    ended_at: Moment | None
    next_step_at: Moment | None

    @classmethod
    def of(cls, download: Download, title: str) -> "DownloadRecord":
        return cls(
            id=download.id,
            show_id=download.show_id,
            release_id=download.release_id,
            title=title,
            state=download.state,
            slots=[SlotRecord.of(slot) for slot in download.slots],
            infohash=download.infohash,
            size=download.size,
            progress=download.progress / 1_000,
            attempts=download.attempts,
            error=download.error,
            detail=download.detail,
            replaces=[LossRecord.of(loss) for loss in download.replaces],
            intended_at=download.intended_at,
            added_at=download.added_at,
            completed_at=download.completed_at,
            linked_at=download.linked_at,
            ended_at=download.ended_at,
            next_step_at=download.next_step_at,
        )


class WholeDownloadRecord(DownloadRecord):
    """With its files."""

    files: list[LibraryFileRecord]


class DownloadPage(Record):
    """`client`: whether downloads are made here at all."""

    downloads: list[DownloadRecord]
    client: Literal["none", "qbittorrent", "transmission", "aria2"]
    next_cursor: str | None
