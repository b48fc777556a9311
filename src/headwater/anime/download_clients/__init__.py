"""Download clients: aria2, qBittorrent and Transmission, one module each.

To add a client, write its module here, add its row to `open_client.CLIENTS` and its name to
`DownloadClientName` of the settings, and describe it in docs/releases.md.
"""
