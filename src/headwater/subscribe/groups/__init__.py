"""Groups of subscriptions in the database."""
