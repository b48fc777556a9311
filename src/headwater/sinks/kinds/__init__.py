"""The kinds of sinks: webhook, NDJSON, Redis, NATS.

Every kind has two functions, which `all_kinds.AllSinkKinds` brings together:

- `check_KIND_options(options, secrets)` → options and secrets with defaults filled in. `BadInput`
  has the fact `field` with the name of what is wrong. It opens nothing. `options.SinkOptions` reads
  them one by one.
- `async open_KIND_sink(plan)` → a `SinkConnection`. The plan was checked before. What must be
  reached is reached when something is delivered: then trouble is in the receipt.
"""
