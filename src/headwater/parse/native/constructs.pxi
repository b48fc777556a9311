# Titles, summaries and bodies without tags: the same as `text.read_text_construct`.

cdef str _type_of(tree.xmlNode* node, str default):
    """The kind of a text that has no attribute but a usual `type`; else None."""
    cdef const char* given
    if node.properties == NULL:
        return default
    given = _only_attribute(node, b"type")
    if given == NULL:
        return None
    if not strcmp(given, b"html"):
        return "html"
    return "text" if not strcmp(given, b"text") else None


cdef tuple _construct(EntryReader reader, str kind, Piece* piece):
    """Does `text.read_text_construct` for an element whose kind is `text` or `html`."""
    cdef str value = _said(piece)
    if reader.lifted and value.startswith(MARK):
        value = (<str> reader.lifted.pop(value, value)).strip()
    if value.endswith("]]>") and value.startswith("<![CDATA["):
        value = value[9:-3].strip()
    if kind == "text":
        if reader.is_atom or not ("<" in value or "&" in value) or not looks_like_html(value):
            return value, kind
        kind = "html"
    elif not reader.relative:
        return value, kind
    if reader.base is not None and "<" in value and "=" in value:
        value = with_absolute_links(value, reader.base, reader.relative)
    return value, kind


cdef bint _read_title(
    EntryReader reader, tree.xmlNode* node, Piece* piece, draft, spare
) except -1:
    cdef str value, kind = _type_of(node, "text")
    if kind is None or piece.length > reader.title_chars:
        return False
    if spare.title_rank > 1:
        value, kind = _construct(reader, kind, piece)
        if value:
            if len(value) > reader.title_chars:  # with addresses that became absolute
                value = entry.title_within(value, reader.context)
            draft.title = _text(value, kind)
            spare.title_rank = 1
    return True


cdef bint _read_summary(
    EntryReader reader, _Name name, tree.xmlNode* node, Piece* piece, draft, spare
) except -1:
    cdef str value, kind = _type_of(node, "html" if name.kind == DESCRIPTION else "text")
    if kind is None or draft.summary is not None:
        return False
    value, kind = _construct(reader, kind, piece)
    if value:
        if len(value) > reader.short_enough:
            value = within(value, kind, "summary_cut", reader.context)
        draft.summary = _text(value, kind)
        spare.summary_tag = name.tag
    return True


cdef bint _read_content(
    EntryReader reader, Kind name, tree.xmlNode* node, Piece* piece, draft
) except -1:
    cdef str value, kind = _type_of(node, "html" if name == ENCODED else "text")
    cdef tuple held = draft.contents
    if kind is None or len(held) >= reader.most_contents:
        return False
    value, kind = _construct(reader, kind, piece)
    if value:
        if len(value) > reader.short_enough:
            value = within(value, kind, "content_cut", reader.context)
        draft.contents = held + (_content(value, kind, reader.language),)
    return True
