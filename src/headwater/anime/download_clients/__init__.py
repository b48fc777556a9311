"""Download clients: aria2, qBittorrent and Transmission, one module each."""
