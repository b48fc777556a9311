"""Bugs of downloads to find: patches to a copy of the product, each with what it breaks."""

from tests.crash.seeded import Bug, Edit

_READY = "    return await _ready(work, facts, torrent.infohash, body, torrent.size)\n"
_WRITTEN = "        written = await store.step(tx, work.download, step, work.now, holder=holder)\n"

BUGS = (
    Bug(
        "the client is asked before its answer could be written down",
        frozenset({"T1"}),
        (
            Edit(
                "obtaining.py",
                _READY,
                "    ports = __import__('headwater.media_ports').media_ports\n"
                "    job = ports.NewJob(torrent.infohash, work.client_folder(), body)\n"
                f"    await work.media.downloader.add(job)\n{_READY}",
            ),
        ),
    ),
    Bug(
        "what is to be replaced leaves when the new one is only chosen",
        frozenset({"T3"}),
        (
            Edit(
                "obtaining.py",
                _WRITTEN,
                f"{_WRITTEN}        losing = __import__('headwater.losing').losing\n"
                "        losses = work.download.replaces\n"
                "        await losing.write_losses(tx, losses, work.download.id, work.now)\n",
            ),
        ),
    ),
    Bug(
        "nobody looks at the bytes",
        frozenset({"T3"}),
        (Edit("watching.py", "    if lack is not None:\n", "    if lack == 'never':\n"),),
    ),
    Bug(
        "what was replaced is as good as anything new",
        frozenset({"T2"}),
        (
            Edit(
                "collect/upgrade.py",
                '    return "better" if new < held else "worse"\n',
                '    return "better"\n',
            ),
            Edit("collecting.py", "        refused=beside.refused,\n", ""),
            Edit(
                "obtaining.py",
                '        if other.state in ("retiring", "retired"):\n',
                '        if other.state == "never":\n',
            ),
        ),
    ),
)
