"""Records of downloads: what callers get."""

from pydantic import Field

from headwater.anime.downloads.download import DownloadState
from headwater.anime.downloads.download_rows import LibraryFileState
from headwater.entrypoints.api.anime.release_records import SlotRecord
from headwater.entrypoints.api.records import Moment, NounRecord, Record
from headwater.settings.releases import DownloadClientName


class ReplacedDownloadRecord(NounRecord):
    """Places that another download lost to this one. `whole`: it had no others."""

    download_id: int
    slots: list[SlotRecord]
    whole: bool = Field(validation_alias="is_whole")


class LibraryFileRecord(NounRecord):
    """A file in the library, or one that was there."""

    path: str = Field(description="Below the library.")
    length: int
    slots: list[SlotRecord]
    state: LibraryFileState
    recycled_to: str | None = Field(description="Where it is now, when it was replaced.")


class DownloadRecord(NounRecord):
    """A release on its way to the library, in it, or out of it. `error` and `detail` say why the
    last step did not succeed, `attempts` how often; `next_step_at` is when it is tried again."""

    id: int
    show_id: int
    release_id: int
    title: str
    state: DownloadState
    slots: list[SlotRecord]
    infohash: str | None
    size: int | None
    progress: float = Field(validation_alias="fraction", description="From 0 to 1.")
    attempts: int
    error: str | None
    detail: str | None
    replaces: list[ReplacedDownloadRecord]
    intended_at: Moment
    added_at: Moment | None
    completed_at: Moment | None
    linked_at: Moment | None
    ended_at: Moment | None
    next_step_at: Moment | None


class WholeDownloadRecord(DownloadRecord):
    """With its files."""

    files: list[LibraryFileRecord]


class DownloadPage(Record):
    """`client`: whether downloads are made here at all."""

    downloads: list[DownloadRecord]
    client: DownloadClientName
    next_cursor: str | None
