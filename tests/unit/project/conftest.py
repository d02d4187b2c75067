"""A project's folder, and an interpreter whose imports are as they were once the test is over."""

import sys

import pytest

from callslip.project import files
from callslip.project.checked import check
from callslip.project.imports import Guard, guard


class Tree:
    """A folder of files."""

    def __init__(self, root):
        self.root = root
        root.mkdir(exist_ok=True)

    def write(self, name, text=""):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def digests(self):
        return {name: files.digest(data) for name, data in files.covered(self.root).items()}

    def cover(self, *, accepted=None):
        """What lies there now is accepted, checked, and guarded."""
        checked = check(self.root, self.digests() if accepted is None else accepted)
        made = guard()
        made.cover(checked.root, checked.files)
        return made


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path / "project")


@pytest.fixture
def imports(tmp_path):
    """Puts folders on the path, and takes everything back at the end."""
    before = [(places, list(places)) for places in (sys.path, sys.meta_path, sys.path_hooks)]
    modules = set(sys.modules)
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, Guard)]
    yield lambda folder: sys.path.insert(0, str(folder))
    for places, were in before:
        places[:] = were
    sys.path_importer_cache.clear()
    for name in set(sys.modules) - modules:
        where = getattr(sys.modules[name], "__file__", None) or str(getattr(sys.modules[name], "__path__", ""))
        if str(tmp_path) in where:
            del sys.modules[name]
