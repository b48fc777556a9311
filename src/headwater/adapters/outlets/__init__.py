"""The ways out to sinks: one room for each kind, with small rooms beside it.

Every kind has two functions, which `kinds.EveryOutlet` brings together:

- `checked_KIND(options, secrets)` → options and secrets with defaults filled in. `BadInput` has the
  fact `field` with the name of what is wrong. It opens nothing. `options.Given` reads them one by
  one.
- `async open_KIND(plan)` → an `Outlet`. The plan was checked before. What must be reached is
  reached when something is delivered: then trouble is in the receipt.
"""
