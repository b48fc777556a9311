"""The published description, and the code made of it, say the same."""

import sys
from pathlib import Path
from subprocess import run

import headwater
from headwater.client.grpc import headwater_pb2
from headwater.entrypoints.grpc.server import SERVICE, UNARY_CALLS

SRC = Path(headwater.__file__).parent.parent
PROTO = Path("headwater/client/grpc/headwater.proto")
MADE = ("headwater_pb2.py", "headwater_pb2.pyi", "headwater_pb2_grpc.py")


def test_making_the_code_again_changes_nothing(tmp_path: Path) -> None:
    """`make protos` was run after the last change of the description."""
    run(
        [
            sys.executable,
            "-m",
            "grpc_tools.protoc",
            f"-I{SRC}",
            f"--python_out={tmp_path}",
            f"--pyi_out={tmp_path}",
            f"--grpc_python_out={tmp_path}",
            str(SRC / PROTO),
        ],
        check=True,
    )
    for name in MADE:
        made = (tmp_path / PROTO.parent / name).read_bytes()
        assert made == (SRC / PROTO.parent / name).read_bytes(), f"{name}: run `make protos`"


def test_every_call_of_the_description_is_answered() -> None:
    (service,) = headwater_pb2.DESCRIPTOR.services_by_name.values()
    assert service.full_name == SERVICE
    described = {method.name for method in service.methods}
    assert described == {*UNARY_CALLS, "GetRaw", "StreamEvents"}
    assert {method.name for method in service.methods if method.server_streaming} == {
        "GetRaw",
        "StreamEvents",
    }
    asked = {method.name: method.input_type.name for method in service.methods}
    assert {name: kind.DESCRIPTOR.name for name, (kind, _) in UNARY_CALLS.items()} == {
        name: asked[name] for name in UNARY_CALLS
    }
