"""Map paths between our downloads folder and the same folder as the download client names it."""


def path_for_client(root: str, folder: str) -> str:
    """The client's path of a folder below our downloads."""
    separator = "\\" if "\\" in root and "/" not in root else "/"
    return f"{root.rstrip('/' + separator)}{separator}{folder.replace('/', separator)}"


def path_from_client(root: str, path: str) -> str | None:
    """Our path, below the downloads, of a path of the client's, with `/` between the parts; empty
    for the downloads themselves. None when it is elsewhere."""
    root_parts, parts = _parts(root), _parts(path)
    if parts[: len(root_parts)] != root_parts or ".." in parts:
        return None
    return "/".join(parts[len(root_parts) :])


def _parts(path: str) -> list[str]:
    """Windows writes backslashes; elsewhere they may be part of a name, but never of ours."""
    return [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]
