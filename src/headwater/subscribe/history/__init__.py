"""Every decision about who fetches what: who made it, when, why, and what it changed."""
