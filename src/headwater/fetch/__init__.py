"""Station 3: bytes over the wire, politely and safely."""
