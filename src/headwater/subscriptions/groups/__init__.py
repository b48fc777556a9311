"""Groups of subscriptions: shared values, members, and one action on all of them."""
