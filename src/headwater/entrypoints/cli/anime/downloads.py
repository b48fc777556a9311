"""`headwater downloads`: releases on their way to the library, and those that do not get there."""

from collections.abc import Iterable
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from headwater.entrypoints.cli.lookup import api_path
from headwater.entrypoints.cli.options import Json, Limit, local_now, session_of
from headwater.entrypoints.cli.render import details_table, safe_text, table
from headwater.entrypoints.cli.session import Session
from headwater.entrypoints.cli.times import local_time

downloads = typer.Typer(no_args_is_help=True, help="Releases on their way to the library.")

DownloadArgument = Annotated[int, typer.Argument(metavar="ID", min=1, help="A download's number.")]
_COLOURS = {"done": "green", "linked": "green", "failed": "red", "retiring": "yellow"}


@downloads.command("list")
def list_downloads(
    ctx: typer.Context,
    state: Annotated[
        str | None, typer.Option(help="Only in this state: failed, added, done, …")
    ] = None,
    show: Annotated[int | None, typer.Option(min=1, help="Only of this show.")] = None,
    limit: Limit = 30,
    json: Json = False,
) -> None:
    """The newest downloads: how far each is, and what is wrong."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        page = api.get("/downloads", state=state, show=show, limit=limit)
    if json:
        session.print_json(page["downloads"])
        return
    if page["downloads"]:
        session.out.print(_table(page["downloads"]))
    else:
        session.out.print("No downloads. `headwater track add URL` collects a show.", markup=False)
    if page["client"] == "none":
        session.note("No download client is named: set media_client, then `headwater doctor`.")


@downloads.command("show")
def show_download(ctx: typer.Context, which: DownloadArgument, json: Json = False) -> None:
    """One download: every step so far, and its files in the library."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        found = api.get(api_path("downloads", str(which)))
    if json:
        session.print_json(found)
        return
    session.out.print(_download_details(found))
    if found["files"]:
        shown = table("state", "file", "bytes", "now in", wide=("file", "now in"))
        for each in found["files"]:
            shown.add_row(
                each["state"],
                safe_text(each["path"]),
                f"{each['length']:,}",
                safe_text(each["recycled_to"] or ""),
            )
        session.out.print(shown)


@downloads.command("retry")
def retry_download(ctx: typer.Context, which: DownloadArgument, json: Json = False) -> None:
    """Take the next step of a download now; one that failed begins again."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        found = api.post(api_path("downloads", str(which), "retry"), {})
    _print_result(session, found, f"{found['title']}: {found['state']}, tried again now.")


@downloads.command("drop")
def drop_download(ctx: typer.Context, which: DownloadArgument, json: Json = False) -> None:
    """Out of the library (into the recycle folder), and out of the client if we added it there."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        found = api.post(api_path("downloads", str(which), "drop"), {})
    _print_result(session, found, f"{found['title']}: {found['state']}.")


def _table(found: Iterable[dict[str, Any]]) -> Table:
    made = table("id", "state", "for", "title", "trouble", wide=("title", "trouble"))
    for each in found:
        made.add_row(
            Text(str(each["id"]), style="dim"),
            Text(_state(each), style=_COLOURS.get(each["state"], "")),
            safe_text(_slots(each)),
            safe_text(each["title"]),
            safe_text(each["error"] or ""),
        )
    return made


def _download_details(each: dict[str, Any]) -> Table:
    now = local_now()
    replaced = ", ".join(f"download {loss['download_id']}" for loss in each["replaces"])
    times = {
        "wanted since": each["intended_at"],
        "added": each["added_at"],
        "complete": each["completed_at"],
        "in the library": each["linked_at"],
        "ended": each["ended_at"],
        "next step": each["next_step_at"],
    }
    return details_table(
        [
            ("download", safe_text(each["title"])),
            ("state", _state(each)),
            ("for", safe_text(_slots(each))),
            (
                "trouble",
                safe_text(f"{each['error']} ({each['attempts']} tries)") if each["error"] else None,
            ),
            ("detail", safe_text(each["detail"]) if each["detail"] else None),
            ("replaces", safe_text(replaced) if replaced else None),
            ("infohash", safe_text(each["infohash"]) if each["infohash"] else None),
            *((name, local_time(said, now)) for name, said in times.items() if said),
        ]
    )


def _state(each: dict[str, Any]) -> str:
    return f"added, {each['progress']:.0%}" if each["state"] == "added" else str(each["state"])


def _slots(each: dict[str, Any]) -> str:
    names = [slot["name"] for slot in each["slots"]]
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} to {names[-1]}"


def _print_result(session: Session, record: dict[str, Any], line: str) -> None:
    if session.as_json:
        session.print_json(record)
    else:
        session.out.print(safe_text(line))
