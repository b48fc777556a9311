"""The REST API: the routes of each area, and the middleware and records that all of them share."""
