"""Reading a body in a parse process: asked through the port, answered as nouns."""

from headwater.merge.reading import Job, Read, ReadingPolicy, Unreadable, reading_of
from headwater.ports import Parsers

DEADLY = {"parser_crashed", "parser_timeout", "parser_memory"}
"""Answers that the document is to blame for; not `parser_unavailable`, our own trouble."""

NOT_THE_DOCUMENTS_FAULT = {"parser_unavailable"}
"""Answers that say nothing of the document: no parse process could be had."""


async def read(parsers: Parsers, job: Job, body: bytes, policy: ReadingPolicy) -> Read:
    answered = await parsers.read(job.as_bytes(policy), body)
    if answered.error is not None:
        return Unreadable(answered.error, answered.detail)
    return reading_of(answered.payload)


def killed_its_parser(read: Read | None) -> bool:
    return isinstance(read, Unreadable) and read.code in DEADLY
