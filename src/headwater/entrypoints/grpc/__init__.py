"""The gRPC entrypoint: reading, and the stream of events. headwater.proto describes it."""
