"""The old place of the gRPC code. It stands in headwater.client.grpc now."""
