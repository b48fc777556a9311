"""An old name of headwater.client.grpc.headwater_pb2."""

from headwater.client.grpc.headwater_pb2 import *  # noqa: F403
