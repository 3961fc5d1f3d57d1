"""Drawings that come with the repository."""
import tarfile

from conftest import REPOSITORY


def sketches_of(names):
    """Twenty (file, bytes) of each class."""
    found = {name: [] for name in names}
    with tarfile.open(REPOSITORY / "data/quickdraw/pictures/novel.tar") as archive:
        for member in archive:
            name, _, file = member.name.removeprefix("./").partition("/")
            if name in found and file.endswith(".png"):
                found[name].append((file, archive.extractfile(member).read()))
    assert all(found.values())
    return found
