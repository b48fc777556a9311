"""An old name of headwater.client.grpc.headwater_pb2_grpc."""

from headwater.client.grpc.headwater_pb2_grpc import *  # noqa: F403
