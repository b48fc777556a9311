"""Bugs of downloads to find: edits of a copy of the product, with what each breaks."""

from tests.crash.seeded import AuditedBug
from tests.support.planted_bugs import Edit

BUGS = (
    AuditedBug(
        "the client is asked before its answer could be written down",
        (
            Edit(
                "fetch_torrent",
                "return await _ready(work, __facts__, __infohash__, __body__, torrent.size)",
                """
job = NewClientTorrent(__infohash__, work.client_folder(), __body__)
await work.media.downloader.add(job)
return await _ready(work, __facts__, __infohash__, __body__, torrent.size)
""",
                uses=("NewClientTorrent",),
            ),
        ),
        frozenset({"T1"}),
    ),
    AuditedBug(
        "what is to be replaced leaves when the new one is only chosen",
        (
            Edit(
                "_ready",
                "__written__ = await download_rows.update_claimed_download("
                "tx, __download__, __step__, __now__, holder=__holder__)",
                """
__written__ = await download_rows.update_claimed_download(
    tx, __download__, __step__, __now__, holder=__holder__
)
await write_losses(tx, __download__.replaces, __download__.id, __now__)
""",
                uses=("write_losses",),
            ),
        ),
        frozenset({"T3"}),
    ),
    AuditedBug(
        "nobody looks at the bytes",
        (Edit("verify_download", "lack is not None", "lack == 'never'"),),
        frozenset({"T3"}),
    ),
    AuditedBug(
        "what was replaced is as good as anything new",
        (
            Edit("_compare_ranks", '"better" if __new__ < __held__ else "worse"', '"better"'),
            Edit("_judge", "__context__.refused", "{}"),
            Edit("_why_known_already", '__other__.state in ("retiring", "retired")', "False"),
        ),
        frozenset({"T2"}),
    ),
)
