"""The names of kinds that people choose from, for the help of the command line."""

from headwater.sinks.kinds.all_kinds import KINDS

SINK_KINDS = tuple(KINDS)
