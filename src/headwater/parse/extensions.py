"""Extensions: keep elements that have no field of their own, by namespace and name."""

from functools import lru_cache

from lxml import etree

from headwater.parse.draft import Context, EntryDraft
from headwater.parse.namespaces import split_name
from headwater.parse.text import text_of

_DEEPEST = 4
_FEW = 16


def keep_extension(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """Keep an unknown element: its text, its attributes, and its nested elements."""
    if len(element) or element.keys():
        _keep(draft, element, context, _DEEPEST)
        return
    text = element.text
    if text is not None and (text := text.strip()):
        uri, name = split_name(element.tag)
        add_value(draft, uri, name, text, context)


def _keep(draft: EntryDraft, element: etree._Element, context: Context, depth: int) -> None:
    tag = element.tag
    if not isinstance(tag, str):
        return
    uri, name = split_name(tag)
    if len(element) and depth:
        for child in element:
            _keep(draft, child, context, depth - 1)
        text = (element.text or "").strip()
    else:
        text = text_of(element)
    if text:
        add_value(draft, uri, name, text, context)
    if element.keys():
        _keep_attributes(draft, uri, name, element, context)


def _keep_attributes(
    draft: EntryDraft, uri: str, name: str, element: etree._Element, context: Context
) -> None:
    names = element.keys()
    limit = context.limits.attributes
    if len(names) > limit:
        context.tally.note("attributes_cut", f"more than {limit} attributes, cut")
    if len(names) <= _FEW:
        values = element.values()
    else:  # by name, and only those that are kept: to ask for all values takes quadratic time
        values = [element.get(attribute) or "" for attribute in names[:limit]]
    for attribute, value in zip(names, values, strict=False):
        add_value(draft, uri, _attribute_name(name, str(attribute)), str(value), context)


@lru_cache(maxsize=1024)
def _attribute_name(name: str, attribute: str) -> str:
    return f"{name}@{split_name(attribute)[1]}"


def add_value(draft: EntryDraft, uri: str, name: str, value: str, context: Context) -> None:
    limits, spare = context.limits, context.spare
    if spare.extension_count >= limits.extension_values:
        context.tally.note("extensions_cut", f"more than {limits.extension_values} values, cut")
        return
    if len(value) > limits.text_chars:
        context.tally.note("extension_cut", f"longer than {limits.text_chars} characters, cut")
        value = value[: limits.text_chars]
    spare.extension_count += 1
    names = draft.extensions.get(uri)
    if names is None:
        draft.extensions[uri] = {name: (value,)}
    elif name in names:
        names[name] += (value,)
    else:
        names[name] = (value,)


def read_indexer_attribute(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """Keep `<torznab:attr name="seeders" value="5"/>` as seeders: 5."""
    name, value = element.get("name"), element.get("value")
    uri, _ = split_name(str(element.tag))
    if name and value is not None:
        add_value(draft, uri, name[:64], value, context)
