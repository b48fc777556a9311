"""Read categories, tags, subjects and keywords."""

from lxml import etree

from headwater.parse.document import Category
from headwater.parse.draft import Context, Draft
from headwater.parse.namespaces import RDF, add_usual_attributes, plain_name
from headwater.parse.text import text_of

ITUNES_SCHEME = "http://www.itunes.com/"
MEDIA_SCHEME = "http://search.yahoo.com/mrss/category_schema"


def add_category(term: str, scheme: str | None, label: str | None, context: Context) -> None:
    """Add a category once. A term that is too long is cut."""
    limits, categories = context.limits, context.spare.categories
    key = (term, scheme, label)
    category = context.terms.get(key)
    if category is not None and len(categories) < limits.categories:
        categories[key] = category  # this changes nothing when it is there already
        return
    if len(term) > limits.title_chars:
        context.tally.note("category_cut", f"longer than {limits.title_chars} characters, cut")
        key = (term[: limits.title_chars], scheme, label)
    if key in categories:
        return
    if len(categories) >= limits.categories:
        context.tally.note("categories_cut", f"more than {limits.categories} categories, cut")
        return
    category = context.terms.get(key)
    if category is None:
        category = context.terms[key] = Category(*key)
    categories[key] = category


def categories_of(context: Context) -> tuple[Category, ...]:
    return tuple(context.spare.categories.values())


def read_category(draft: Draft, element: etree._Element, context: Context) -> None:
    """Read RSS's text with a domain, or Atom's term with scheme and label."""
    if not element.keys():
        term = text_of(element)
        if term:
            add_category(term, None, None, context)
        return
    term = (element.get("term") or "").strip()
    scheme = element.get("scheme") or element.get("domain") or None
    label = element.get("label") or None
    if not term and scheme is None and add_usual_attributes(element):
        read_category(draft, element, context)
        return
    term = term or text_of(element) or label or ""
    if term:
        add_category(term, scheme, label, context)


def read_subject(draft: Draft, element: etree._Element, context: Context) -> None:
    """Read Dublin Core's subject. RDF puts several into a bag."""
    bag = element.iter(RDF + "li") if len(element) else ()
    terms = list(filter(None, map(text_of, bag)))
    for term in terms:
        add_category(term, None, None, context)
    if not terms:
        read_category(draft, element, context)


def read_categories(draft: Draft, element: etree._Element, context: Context) -> None:
    """Read a list around categories. No specification has it, and many tools write it."""
    for child in element:
        if isinstance(child.tag, str) and plain_name(child.tag) in ("category", "tag"):
            read_category(draft, child, context)


def read_tags(draft: Draft, element: etree._Element, context: Context) -> None:
    if len(element):
        read_categories(draft, element, context)
    else:
        read_keywords(draft, element, context)


def read_media_category(draft: Draft, element: etree._Element, context: Context) -> None:
    label = element.get("label") or None
    text = text_of(element) or label
    if text:
        add_category(text, element.get("scheme") or MEDIA_SCHEME, label, context)


def read_itunes_category(draft: Draft, element: etree._Element, context: Context) -> None:
    """Read a category, which may hold another: the inner one is the narrower subject."""
    for category in (element, *element):
        term = category.get("text")
        if term is None and add_usual_attributes(category):
            term = category.get("text")
        if term is None and not len(category):
            term = category.text
        if term and term.strip():
            add_category(term.strip(), ITUNES_SCHEME, None, context)


def read_keywords(draft: Draft, element: etree._Element, context: Context) -> None:
    _add_keywords(text_of(element), None, context)


def read_itunes_keywords(draft: Draft, element: etree._Element, context: Context) -> None:
    _add_keywords(text_of(element), ITUNES_SCHEME, context)


def _add_keywords(text: str, scheme: str | None, context: Context) -> None:
    for term in text.split(",", context.limits.categories * 2):
        term = term.strip()
        if term:
            add_category(term, scheme, None, context)


def read_topic(draft: Draft, element: etree._Element, context: Context) -> None:
    """Read RSS 1.0's taxonomy: a bag of resources."""
    for item in element.iter(RDF + "li"):
        resource = item.get(RDF + "resource") or item.get("resource")
        if resource:
            add_category(resource, None, None, context)
