"""The gRPC way in: what may be read, and the stream of events, described in headwater.proto."""
