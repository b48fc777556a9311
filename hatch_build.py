"""Compiles `src/headwater/parse/native` while Headwater is being installed, where that can be done.

Without a C compiler, Python's headers, Cython or lxml the install goes on, and the parser takes its
way in plain Python: the same answers, more slowly.
"""

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NATIVE = Path("src/headwater/parse/native")


class CompiledParts(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        try:
            forget(root)
            compile_all(root)
        except (Exception, SystemExit) as trouble:  # noqa: BLE001  whatever is missing: go on without
            self.app.display_warning(f"The parser is not compiled: {trouble}")
            with suppress(OSError):
                forget(root)  # one part without the other is of no use
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True


def forget(root: Path) -> None:
    """What was compiled before, perhaps of other sources."""
    for old in (root / NATIVE).glob("*.so"):
        old.unlink()


def compile_all(root: Path) -> None:
    """Beside their sources; what comes up on the way is left nowhere."""
    # Not at the top: nobody promised that these are here.
    import lxml  # noqa: PLC0415
    from Cython.Build import cythonize  # noqa: PLC0415
    from setuptools import Distribution, Extension  # noqa: PLC0415

    parts = [
        Extension(
            f"headwater.parse.native.{source.stem}",
            [str(source)],
            include_dirs=lxml.get_include(),
            extra_compile_args=["-O3", "-g0"],
        )
        for source in sorted((root / NATIVE).glob("*.pyx"))
    ]
    with tempfile.TemporaryDirectory(prefix="headwater-build-") as folder:
        made = cythonize(parts, build_dir=folder, quiet=True)
        command = Distribution({"ext_modules": made}).get_command_obj("build_ext")
        command.build_lib, command.build_temp = str(root / "src"), folder
        command.ensure_finalized()
        command.run()
