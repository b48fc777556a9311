"""Map client paths: one folder has two names, ours and the download client's."""


def path_for_client(root: str, folder: str) -> str:
    """A folder below the downloads, as the client is told."""
    mark = "\\" if "\\" in root and "/" not in root else "/"
    return f"{root.rstrip('/' + mark)}{mark}{folder.replace('/', mark)}"


def path_from_client(root: str, path: str) -> str | None:
    """A path of the client's below our downloads, with `/` between the parts; empty for the
    downloads themselves. None when it is elsewhere."""
    above, given = _parts(root), _parts(path)
    if given[: len(above)] != above or ".." in given:
        return None
    return "/".join(given[len(above) :])


def _parts(path: str) -> list[str]:
    """Windows writes backslashes; elsewhere they may be part of a name, but never of ours."""
    given = path.replace("\\", "/") if "\\" in path else path
    return [part for part in given.split("/") if part not in ("", ".")]
