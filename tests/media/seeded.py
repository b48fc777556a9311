"""Bugs of downloads to find: patches to a copy of the product, each with what it breaks."""

from tests.crash.seeded import Bug, Edit

_READY = "    return await _ready(work, facts, torrent.infohash, body, torrent.size)\n"
_WRITTEN = (
    "        written = await download_rows.update_claimed_download(\n"
    "            tx, work.download, step, work.now, holder=holder\n"
    "        )\n"
)
_LOAD = "__import__('importlib').import_module"

BUGS = (
    Bug(
        "the client is asked before its answer could be written down",
        frozenset({"T1"}),
        (
            Edit(
                "anime/downloads/fetch_torrent.py",
                _READY,
                f"    ports = {_LOAD}('headwater.anime.downloads.ports')\n"
                "    job = ports.NewClientTorrent(torrent.infohash, work.client_folder(), body)\n"
                f"    await work.media.downloader.add(job)\n{_READY}",
            ),
        ),
    ),
    Bug(
        "what is to be replaced leaves when the new one is only chosen",
        frozenset({"T3"}),
        (
            Edit(
                "anime/downloads/fetch_torrent.py",
                _WRITTEN,
                f"{_WRITTEN}        losing = {_LOAD}('headwater.anime.downloads.remove_files')\n"
                "        losses = work.download.replaces\n"
                "        await losing.write_losses(tx, losses, work.download.id, work.now)\n",
            ),
        ),
    ),
    Bug(
        "nobody looks at the bytes",
        frozenset({"T3"}),
        (
            Edit(
                "anime/downloads/client_steps.py",
                "    if lack is not None:\n",
                "    if lack == 'never':\n",
            ),
        ),
    ),
    Bug(
        "what was replaced is as good as anything new",
        frozenset({"T2"}),
        (
            Edit(
                "anime/decide/rank_releases.py",
                '    return "better" if new < held else "worse"\n',
                '    return "better"\n',
            ),
            Edit("anime/decide/record_decisions.py", "        refused=beside.refused,\n", ""),
            Edit(
                "anime/downloads/fetch_torrent.py",
                '        if other.state in ("retiring", "retired"):\n',
                '        if other.state == "never":\n',
            ),
        ),
    ),
)
