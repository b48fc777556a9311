"""Write files so that they are on the disk when the call returns."""

import os


class Disk:
    """The few system calls that durability needs, in one place so that a test can watch them."""

    def sync_file(self, descriptor: int) -> None:
        os.fsync(descriptor)

    def sync_folder(self, folder: str) -> None:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def move(self, source: str, target: str) -> None:
        os.replace(source, target)
