"""`headwater downloads`: releases on their way to the library, and those that failed."""

from collections.abc import Iterable
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from headwater.entrypoints.cli.anime.tracking_tables import slots_in_words
from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.lookup import api_path
from headwater.entrypoints.cli.options import Limit
from headwater.entrypoints.cli.render import Record, details_table, safe_text, table
from headwater.entrypoints.cli.session import Session
from headwater.entrypoints.cli.times import local_now, local_time

DownloadArgument = Annotated[int, typer.Argument(metavar="ID", min=1, help="A download's number.")]
_COLOURS = {"done": "green", "linked": "green", "failed": "red", "retiring": "yellow"}

commands = Commands()
downloads = commands.family("downloads", help="Releases on their way to the library.")


@downloads.command("list")
def list_downloads(
    session: Session,
    state: Annotated[
        str | None, typer.Option(help="Only in this state: failed, added, done, …")
    ] = None,
    show: Annotated[int | None, typer.Option(min=1, help="Only of this show.")] = None,
    limit: Limit = 30,
) -> None:
    """The newest downloads: how far each is, and what is wrong."""
    with session.api() as api:
        page = api.get("/downloads", state=state, show=show, limit=limit)
    empty = "No downloads. `headwater track add URL` collects a show."
    session.emit(page["downloads"], downloads_table, empty=empty)
    if page["client"] == "none":
        session.note("No download client is named: set media_client, then `headwater doctor`.")


@downloads.command("show")
def show_download(session: Session, which: DownloadArgument) -> None:
    """One download: every step so far, and its files in the library."""
    with session.api() as api:
        download = api.get(api_path("downloads", which))
    session.emit(download, download_and_files)


@downloads.command("retry")
def retry_download(session: Session, which: DownloadArgument) -> None:
    """Take the next step of a download now; one that failed begins again."""
    with session.api(writes=True) as api:
        download = api.post(api_path("downloads", which, "retry"), {})
    line = f"{download['title']}: {download['state']}, tried again now."
    session.emit_line(download, line)


@downloads.command("drop")
def drop_download(session: Session, which: DownloadArgument) -> None:
    """Remove it from the library (into the recycle folder), and from the client if we added it."""
    with session.api(writes=True) as api:
        download = api.post(api_path("downloads", which, "drop"), {})
    session.emit_line(download, f"{download['title']}: {download['state']}.")


def downloads_table(downloads: Iterable[Record]) -> Table:
    made = table("id", "state", "for", "title", "trouble", wide=("title", "trouble"))
    for download in downloads:
        made.add_row(
            Text(str(download["id"]), style="dim"),
            Text(_state(download), style=_COLOURS.get(download["state"], "")),
            safe_text(slots_in_words(download["slots"])),
            safe_text(download["title"]),
            safe_text(download["error"] or ""),
        )
    return made


def download_details(download: Record) -> Table:
    now = local_now()
    replaced = ", ".join(f"download {loss['download_id']}" for loss in download["replaces"])
    times = {
        "wanted since": download["intended_at"],
        "added": download["added_at"],
        "complete": download["completed_at"],
        "in the library": download["linked_at"],
        "ended": download["ended_at"],
        "next step": download["next_step_at"],
    }
    return details_table(
        [
            ("download", safe_text(download["title"])),
            ("state", _state(download)),
            ("for", safe_text(slots_in_words(download["slots"]))),
            (
                "trouble",
                safe_text(f"{download['error']} ({download['attempts']} tries)")
                if download["error"]
                else None,
            ),
            ("detail", safe_text(download["detail"]) if download["detail"] else None),
            ("replaces", safe_text(replaced) if replaced else None),
            ("infohash", safe_text(download["infohash"]) if download["infohash"] else None),
            *((name, local_time(moment, now)) for name, moment in times.items() if moment),
        ]
    )


def _state(download: Record) -> str:
    return (
        f"added, {download['progress']:.0%}"
        if download["state"] == "added"
        else str(download["state"])
    )


def download_and_files(download: Record) -> RenderableType:
    details = download_details(download)
    if not download["files"]:
        return details
    files = table("state", "file", "bytes", "now in", wide=("file", "now in"))
    for file in download["files"]:
        files.add_row(
            file["state"],
            safe_text(file["path"]),
            f"{file['length']:,}",
            safe_text(file["recycled_to"] or ""),
        )
    return Group(details, files)
