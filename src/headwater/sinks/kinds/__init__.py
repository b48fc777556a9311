"""The kinds of sinks: webhook, NDJSON, Redis, NATS.

To add a kind, write a module here with a function `KIND_kind(resources)` that returns its
`SinkKind`, add its row to `all_kinds.KINDS`, and describe it in docs/sinks.md.

- The check returns options and secrets with defaults filled in. `options.SinkOptions` reads them
  one by one. It opens nothing.
- It connects only when it delivers: then trouble is in the result.
"""
