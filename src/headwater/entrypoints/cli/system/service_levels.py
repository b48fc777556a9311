"""`headwater slo`: the promises of Headwater, in figures."""

from collections.abc import Iterable
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table

from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.errors import ExitCode
from headwater.entrypoints.cli.render import Record, safe_text, state_text, table
from headwater.entrypoints.cli.session import Session

commands = Commands()


@commands.command()
def slo(
    session: Session,
    window: Annotated[str, typer.Option("--window", help="Days to look at, such as 7d.")] = "1d",
    worst: Annotated[int, typer.Option("--worst", min=0, max=100, help="Feeds to name.")] = 5,
) -> None:
    """Every promise of Headwater and whether it is kept. Exit code 1 when one is broken."""
    with session.api() as api:
        report = api.get("/slo", window=window, worst=worst)
    session.emit(report, levels_and_offenders)
    if not report["met"]:
        raise typer.Exit(ExitCode.PROBLEMS)


def levels_and_offenders(report: Record) -> RenderableType:
    parts: list[RenderableType] = [levels_table(report["levels"])]
    for level in report["levels"]:
        if level["met"] is False and level["worst"]:
            parts += [safe_text(f"{level['name']}: the worst"), offenders_table(level)]
    return Group(*parts)


def levels_table(levels: Iterable[Record]) -> Table:
    made = table(
        "", "promise", "target", "value", "measured", "beyond", "window", wide=("promise",)
    )
    for level in levels:
        made.add_row(
            state_text({True: "ok", False: "error", None: "–"}[level["met"]]),
            safe_text(level["promise"]),
            _figure(level["target"], level["unit"]),
            _figure(level["value"], level["unit"]),
            f"{level['measured']:,}",
            f"{level['beyond']:,}",
            level["window"],
        )
    return made


def offenders_table(level: Record) -> Table:
    made = table("feed", "value", "about", "url", wide=("url",))
    unit = "times" if level["name"] == "freshness" else level["unit"]
    for offender in level["worst"]:
        made.add_row(
            offender["feed_id"],
            _figure(offender["value"], unit),
            safe_text(offender["detail"]),
            safe_text(offender["url"], 200),
        )
    return made


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    return {"share": f"{value:.1%}", "seconds": f"{value:.2f} s"}.get(unit, f"{value:.1f}")
