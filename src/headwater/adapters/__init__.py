"""One file per neighbour; only wiring imports them."""
