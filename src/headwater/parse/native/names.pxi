# The names of elements, each with its reader in Python and what it is called here.

cdef enum Kind:
    OTHER
    TITLE
    DESCRIPTION
    SUMMARY
    ENCODED
    CONTENT
    PUBLISHED
    UPDATED
    ISSUED
    DATE
    AUTHOR
    CATEGORY
    LINK
    GUID
    ID
    EXTENSION
    ENCLOSURE
    COMMENTS
    THUMBNAIL
    MEDIA


_KINDS = {
    entry.read_title: TITLE,
    entry.read_description: DESCRIPTION,
    entry.read_summary: SUMMARY,
    entry.read_encoded: ENCODED,
    entry.read_content: CONTENT,
    entry.read_published: PUBLISHED,
    entry.read_updated: UPDATED,
    entry.read_issued: ISSUED,
    entry.read_dc_date: DATE,
    people.read_author: AUTHOR,
    terms.read_category: CATEGORY,
    terms.read_subject: CATEGORY,
    links.read_link: LINK,
    links.read_guid: GUID,
    links.read_id: ID,
    extensions.keep_extension: EXTENSION,
    links.read_enclosure: ENCLOSURE,
    links.read_comments: COMMENTS,
    media.read_thumbnail: THUMBNAIL,
    media.read_itunes_image: THUMBNAIL,
    entry.read_media_content: MEDIA,
}


cdef class _Name:
    """A name of elements: its tag, the reader in Python, and what we call it here."""

    cdef bytes local, uri
    cdef str tag
    cdef object reader
    cdef Kind kind
    cdef tuple split

    cdef bint names(self, tree.xmlNode* node) noexcept:
        if strcmp(<const char*> node.name, <const char*> self.local):
            return False
        if node.ns == NULL or node.ns.href == NULL:
            return self.uri is None
        return self.uri is not None and not strcmp(
            <const char*> node.ns.href, <const char*> self.uri
        )


cdef _Name _name_of(tree.xmlNode* node, readers):
    cdef _Name made = _Name.__new__(_Name)
    made.local = <const char*> node.name
    made.uri = None if node.ns == NULL or node.ns.href == NULL else <const char*> node.ns.href
    made.tag = namespacedName(node)
    made.reader = readers[made.tag]
    made.kind = _KINDS.get(made.reader, OTHER)
    made.split = split_name(made.tag)
    return made
