# Dates, people, categories, and what has no field of its own.

cdef bint _read_date(EntryReader reader, Kind kind, Piece* piece, draft) except -1:
    cdef str raw
    if not piece.length:
        return True
    if kind == ISSUED and draft.published is not None:
        return True
    if kind == DATE and draft.updated is not None:
        return True
    raw = _said(piece)
    if not raw:
        return True
    found = _date(piece, raw)
    if len(raw) > reader.date_chars:
        raw = raw[: reader.date_chars]
    if kind == PUBLISHED or kind == ISSUED:
        draft.raw_dates["published"] = raw
        if found is not None:
            draft.published = found
    else:
        draft.raw_dates["updated"] = raw
        if found is not None:
            draft.updated = found
    return True


cdef bint _read_author(EntryReader reader, Piece* piece, draft) except -1:
    """Somebody who was named before in this document, in an entry that names nobody else."""
    return _is_kept(reader, reader.people.get(_said(piece)), draft)


cdef bint _is_kept(EntryReader reader, person, draft) except -1:
    cdef tuple held = draft.authors
    if person is None or person is WITHIN:
        return False
    if held:
        return person in held
    draft.authors = (person,)
    return True


cdef bint _is_known_person(EntryReader reader, tree.xmlNode* node, draft) except -1:
    """The same for a person in elements of their own, as Atom has it."""
    cdef tree.xmlNode* inside = node.children
    cdef Piece piece
    if reader.has_base:
        return False
    said = []
    while inside != NULL:
        if inside.type == tree.XML_ELEMENT_NODE:
            if not _holds_one_text(inside, &piece):
                return False
            said.append((reader.name_of(inside).tag, _said(&piece)))
        elif inside.type != tree.XML_TEXT_NODE:
            return False
        inside = inside.next
    if not said:
        return False
    return _is_kept(reader, reader.people.get((reader.base, tuple(said))), draft)


cdef bint _read_category(EntryReader reader, Piece* piece, spare) except -1:
    cdef dict held = spare.categories
    cdef str term
    if not piece.length:
        return True
    if piece.length > reader.title_chars or len(held) >= reader.most_categories:
        return False
    term = _said(piece)
    if not term:
        return True
    key = (term, None, None)
    if key not in held:
        known = reader.terms.get(key)
        if known is None:
            known = reader.terms[key] = _category(term)
        held[key] = known
    return True


cdef bint _read_extension(EntryReader reader, _Name name, Piece* piece, draft, spare) except -1:
    cdef str value, uri, local
    cdef dict held, names
    if not piece.length:
        return True
    if piece.length > reader.text_chars or spare.extension_count >= reader.most_extensions:
        return False
    value = _said(piece)
    if not value:
        return True
    spare.extension_count += 1
    uri, local = name.split
    held = draft.extensions
    names = held.get(uri)
    if names is None:
        held[uri] = {local: (value,)}
    elif local in names:
        names[local] += (value,)
    else:
        names[local] = (value,)
    return True
