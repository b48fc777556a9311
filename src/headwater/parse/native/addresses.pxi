# Links, ids and files, as far as their addresses need no URL parser.

cdef bint _is_plain(EntryReader reader, Piece* piece) noexcept:
    return piece.length <= reader.link_bytes and _is_plain_address(piece.start, piece.length)


cdef str _plain_attribute(EntryReader reader, tree.xmlNode* node, const char* name):
    """A plain address in an attribute, or None."""
    cdef tree.xmlAttr* attribute = _find(node, name)
    cdef Piece piece
    if attribute == NULL:
        return None
    piece.start = _value_of(attribute)
    piece.length = 0 if piece.start == NULL else strlen(piece.start)
    return _said(&piece) if _is_plain(reader, &piece) else None


cdef bint _read_link(EntryReader reader, tree.xmlNode* node, Piece* piece, draft, spare) except -1:
    cdef str value
    if node.properties != NULL:
        return _read_atom_link(reader, node, draft, spare)
    if draft.links or not _is_plain(reader, piece):
        return False
    if memchr(piece.start, 38, piece.length) != NULL:  # an ampersand, perhaps escaped twice
        return False
    value = _said(piece)
    draft.links = (_link(value, "alternate", None, None, None, None),)
    draft.link = value
    spare.link_rank = 0
    return True


cdef bint _read_atom_link(EntryReader reader, tree.xmlNode* node, draft, spare) except -1:
    """With an address that is plain and a usual relation."""
    cdef tuple held = draft.links
    cdef str address = _plain_attribute(reader, node, b"href"), rel = _given(node, b"rel")
    if address is None or len(held) >= reader.most_links:
        return False
    if rel is None:
        rel = "alternate"
    elif rel == "replies" or rel not in USUAL_RELATIONS:
        return False
    kind = media_type(_given(node, b"type"))
    title, hreflang = _given(node, b"title"), _given(node, b"hreflang")
    draft.links = held + (
        _link(
            address,
            rel,
            kind,
            title[:1024] if title else None,
            byte_count(_given(node, b"length")),
            hreflang[:64] if hreflang else None,
        ),
    )
    if rel == "alternate":
        rank = 1 if kind in PAGES else 4
        if rank <= spare.link_rank:
            draft.link = address
            spare.link_rank = rank
    return True


cdef bint _read_guid(EntryReader reader, tree.xmlNode* node, Piece* piece, draft, spare) except -1:
    """Addresses that are plain, and guids that say that they are none."""
    cdef const char* permalink
    cdef bint is_link = True
    cdef str value
    if not piece.length:
        return True
    if piece.length * 4 > reader.guid_bytes or not _is_ascii(piece.start[0]):
        return False
    if node.properties != NULL:
        permalink = _only_attribute(node, b"isPermaLink")
        if permalink == NULL:
            return False
        is_link = not strcmp(permalink, b"true")
        if not is_link and strcmp(permalink, b"false"):
            return False
    if is_link and not _is_plain(reader, piece):
        if node.properties != NULL or memchr(b"hH/.", piece.start[0], 4) != NULL:
            return False
        is_link = False
    value = _said(piece)
    draft.native_id = value
    draft.id_is_permalink = is_link
    if is_link and spare.link_rank > 5:
        draft.link = value
        spare.link_rank = 5
    return True


cdef bint _read_id(EntryReader reader, Piece* piece, draft, spare) except -1:
    """An id that is no address, or of an entry that has a better one."""
    if not piece.length:
        return True
    if piece.length * 4 > reader.guid_bytes or not _is_ascii(piece.start[0]):
        return False
    if (piece.start[0] | 32) == 104 and spare.link_rank > 6:  # "h": it may be an address
        return False
    draft.native_id = _said(piece)
    return True


cdef bint _read_comments(EntryReader reader, Piece* piece, draft) except -1:
    if piece.length and not _is_plain(reader, piece):
        return False
    if piece.length:
        draft.comments = _said(piece)
    return True


cdef bint _read_enclosure(EntryReader reader, tree.xmlNode* node, draft) except -1:
    cdef str url = _plain_attribute(reader, node, b"url")
    if url is None:
        return False
    title, kind = _given(node, b"title"), media_type(_given(node, b"type"))
    size = byte_count(_given(node, b"length"))
    made = _enclosure(url, kind, size, None, title[:1024] if title else None, None)
    add_enclosure(draft, made, reader.context)
    return True


cdef bint _read_media(EntryReader reader, tree.xmlNode* node, draft) except -1:
    cdef str url = _plain_attribute(reader, node, b"url")
    if url is None:
        return False
    medium, kind = _given(node, b"medium"), media_type(_given(node, b"type"))
    size = byte_count(_given(node, b"fileSize") or _given(node, b"filesize"))
    duration = media.seconds(_given(node, b"duration"))
    medium = medium.strip().lower()[:32] if medium else None
    add_enclosure(draft, _enclosure(url, kind, size, duration, None, medium), reader.context)
    return True


cdef bint _read_thumbnail(EntryReader reader, tree.xmlNode* node, draft) except -1:
    cdef bint has_url = _find(node, b"url") != NULL  # Media RSS; iTunes says `href`
    cdef str url = _plain_attribute(reader, node, b"url" if has_url else b"href")
    cdef tuple held = draft.thumbnails
    if url is None or len(held) >= reader.most_thumbnails:
        return False
    if url not in held:
        draft.thumbnails = held + (url,)
    return True
