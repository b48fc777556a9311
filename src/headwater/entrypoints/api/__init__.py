"""The REST API: its routes by area, and what stands around all of them."""
