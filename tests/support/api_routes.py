"""All routes of the API and the rights they need."""

from headwater.auth.tokens import Scope
from headwater.entrypoints.api.app import ROUTES

RIGHTS: dict[tuple[str, str], tuple[Scope, ...] | None] = {
    (method, route.path): route.rules.rights for route in ROUTES for method in route.methods or ()
}
"""Method and path of every route → the rights of which it needs one; None: it is open."""
