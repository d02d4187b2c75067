"""What may be imported. Where it is shown that something does not work, it is shown that it would without the guard."""

import importlib
import importlib.util
import py_compile
import runpy
import shutil
import subprocess
import sys
import sysconfig
import threading
import zipfile
from pathlib import Path

import pytest

from callslip.errors import ConfigError
from callslip.project import imports as module
from callslip.project.imports import CheckedLoader, Guard, HeldImport, guard

pytestmark = pytest.mark.requirement("GATE-09")


def load(name):
    """A fresh import."""
    for loaded in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
        del sys.modules[loaded]
    importlib.invalidate_caches()
    return importlib.import_module(name)


class TestAccepted:
    def test_modules_packages_relative_imports_and_what_comes_with_them(self, tree, imports):
        tree.write("p_one.py", "from p_pkg import deep\nVALUE = deep.VALUE\n")
        tree.write("p_pkg/__init__.py", "'''A package.'''\n")
        tree.write("p_pkg/deep/__init__.py", "from .mod import VALUE\nfrom .. import side\n")
        tree.write("p_pkg/deep/mod.py", "from ..side import VALUE\n")
        tree.write("p_pkg/side.py", "VALUE = 7\n")
        tree.write("p_pkg/data.txt", "data")
        tree.cover()
        imports(tree.root)
        one = load("p_one")
        assert one.VALUE == 7
        assert one.__file__ == str(tree.root / "p_one.py")
        package = sys.modules["p_pkg"]
        assert isinstance(package.__loader__, CheckedLoader)
        assert package.__path__ == [str(tree.root / "p_pkg")]
        assert importlib.resources.files("p_pkg").joinpath("data.txt").read_text() == "data"
        assert sys.modules["p_pkg.side"].__loader__.get_source("p_pkg.side") == "VALUE = 7\n"
        assert importlib.reload(one) is one

    def test_a_namespace_package(self, tree, imports):
        tree.write("p_space/mod.py", "VALUE = 1\n")
        tree.cover()
        tree.write("p_space/new.py", "VALUE = 2\n")
        imports(tree.root)
        assert load("p_space.mod").VALUE == 1
        with pytest.raises(HeldImport):
            load("p_space.new")

    def test_run_as_a_module(self, tree, imports):
        tree.write("p_main.py", "VALUE = __name__\n")
        tree.cover()
        tree.write("p_main.py", "VALUE = 'swapped'\n")
        tree.write("p_other.py")
        imports(tree.root)
        assert runpy.run_module("p_main", run_name="__main__")["VALUE"] == "__main__"
        with pytest.raises(ImportError, match="was not accepted"):
            runpy.run_module("p_other")

    def test_a_module_that_is_not_there_is_simply_not_there(self, tree, imports):
        tree.cover()
        imports(tree.root)
        with pytest.raises(ModuleNotFoundError):
            load("p_nothing")
        assert importlib.util.find_spec("p_nothing") is None
        assert guard().refused == []

    def test_what_lies_elsewhere_is_not_judged(self, tree, imports, tmp_path):
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "p_free.py").write_text("VALUE = 1\n")
        tree.cover()
        imports(tmp_path / "elsewhere")
        assert load("p_free").VALUE == 1
        assert load("colorsys").__name__ == "colorsys"

    def test_there_is_one_guard_in_front(self, tree, imports):
        assert guard() is guard() is sys.meta_path[0]
        assert sum(isinstance(finder, Guard) for finder in sys.meta_path) == 1

    def test_another_projects_folder_is_another_matter(self, tree, imports, tmp_path):
        tree.write("p_mod.py", "VALUE = 1\n")
        tree.cover()
        inner = tree.root / "inner"
        inner.mkdir()
        (inner / "p_in.py").write_text("VALUE = 2\n")
        imports(inner)
        with pytest.raises(HeldImport):
            load("p_in")
        guard().cover(inner, {"p_in.py": b"VALUE = 3\n"})
        assert load("p_in").VALUE == 3


class TestNotAccepted:
    def test_a_new_module(self, tree, imports):
        tree.write("p_mod.py", "VALUE = 1\n")
        tree.cover(accepted={})
        imports(tree.root)
        with pytest.raises(HeldImport, match=r"p_mod\.py was not accepted") as caught:
            load("p_mod")
        assert (caught.value.name, caught.value.path) == ("p_mod", str(tree.root / "p_mod.py"))
        assert guard().refused == [str(caught.value)]
        tree.cover()
        assert load("p_mod").VALUE == 1

    def test_looking_for_it_is_refused_too_and_remembered(self, tree, imports):
        tree.write("p_mod.py")
        tree.cover(accepted={})
        imports(tree.root)
        with pytest.raises(HeldImport):
            importlib.util.find_spec("p_mod")
        assert len(guard().refused) == 1

    def test_an_import_inside_a_function_and_another_thread(self, tree, imports):
        tree.write("p_tool.py", "def tool():\n    import p_lazy\n    return p_lazy.VALUE\n")
        tree.write("p_lazy.py", "VALUE = 'accepted'\n")
        tree.cover()
        tree.write("p_lazy.py", "VALUE = 'swapped'\n")
        tree.write("p_later.py")
        imports(tree.root)
        tool = load("p_tool").tool
        said = []
        thread = threading.Thread(target=lambda: said.append(tool()))
        thread.start()
        thread.join()
        assert said == ["accepted"]
        with pytest.raises(HeldImport):
            load("p_later")

    def test_one_that_shadows_the_standard_library(self, tree, imports):
        tree.write("colorsys.py", "VALUE = 'planted'\n")
        imports(tree.root)
        assert load("colorsys").VALUE == "planted"  # without the guard
        tree.cover(accepted={})
        with pytest.raises(HeldImport, match="colorsys"):
            load("colorsys")
        (tree.root / "colorsys.py").unlink()
        assert load("colorsys").rgb_to_hsv

    def test_one_that_shadows_an_accepted_one(self, tree, imports):
        tree.write("p_mod.py", "VALUE = 'accepted'\n")
        tree.write("first/x.py")
        made = tree.cover()
        tree.write("p_mod/__init__.py", "VALUE = 'planted'\n")
        imports(tree.root)
        assert load("p_mod").VALUE == "accepted"
        sys.meta_path.remove(made)
        sys.path_hooks.remove(made.hook)
        sys.path_importer_cache.clear()
        assert load("p_mod").VALUE == "planted"

    def test_native_code_and_bytecode_without_source(self, tree, imports, tmp_path):
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        source = next(path for path in Path(sysconfig.get_path("purelib")).rglob(f"*{suffix}"))
        shutil.copy(source, tree.root / f"p_native{suffix}")
        (tmp_path / "p_bare.py").write_text("VALUE = 1\n")
        py_compile.compile(str(tmp_path / "p_bare.py"), cfile=str(tree.root / "p_bare.pyc"))
        imports(tree.root)
        assert load("p_bare").VALUE == 1  # without the guard
        tree.cover()
        for name in ("p_native", "p_bare"):
            with pytest.raises(HeldImport, match="not plain Python source"):
                load(name)

    def test_archives(self, tree, imports):
        with zipfile.ZipFile(tree.root / "lib.zip", "w") as archive:
            archive.writestr("p_zipped.py", "VALUE = 1\n")
        imports(tree.root / "lib.zip")
        assert load("p_zipped").VALUE == 1  # without the guard
        tree.cover()
        with pytest.raises(HeldImport, match="not plain Python source"):
            load("p_zipped")
        assert importlib.util.find_spec("p_not_in_it") is None

    def test_a_finder_that_others_put_there(self, tree, imports):
        path = tree.write("p_mapped.py", "VALUE = 1\n")
        tree.write("p_mapped_new.py", "VALUE = 2\n")

        class Editable:
            @staticmethod
            def find_spec(name, path_=None, target=None):
                file = tree.root / f"{name}.py"
                return importlib.util.spec_from_file_location(name, file) if file.exists() else None

        sys.meta_path.append(Editable)
        tree.cover(accepted={"p_mapped.py": tree.digests()["p_mapped.py"]})
        path.write_text("VALUE = 'swapped'\n")
        assert load("p_mapped").VALUE == 1
        with pytest.raises(HeldImport):
            load("p_mapped_new")


class TestBytecode:
    def forge(self, tree):
        """A cache file that claims to be of this source, and says something else."""
        path = tree.root / "p_mod.py"
        cache = Path(importlib.util.cache_from_source(str(path)))
        cache.parent.mkdir(exist_ok=True)
        evil = tree.root.parent / "evil.py"
        evil.write_text("VALUE = 'forged'\n")
        py_compile.compile(str(evil), cfile=str(cache), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)

    def test_a_forged_cache_is_not_read(self, tree, imports):
        tree.write("p_mod.py", "VALUE = 'source'\n")
        self.forge(tree)
        imports(tree.root)
        assert load("p_mod").VALUE == "forged"  # without the guard
        tree.cover()
        assert load("p_mod").VALUE == "source"

    def test_none_is_written(self, tree, imports, monkeypatch):
        monkeypatch.setattr(sys, "dont_write_bytecode", False)
        tree.write("p_mod.py")
        tree.cover()
        imports(tree.root)
        load("p_mod")
        assert not (tree.root / "__pycache__").exists()


class TestBetweenCheckAndUse:
    def test_what_is_swapped_after_the_check_is_not_what_runs(self, tree, imports, monkeypatch):
        """The file is replaced at the last moment: when its source is about to be compiled."""
        path = tree.write("p_mod.py", "VALUE = 'checked'\n")
        compiled = CheckedLoader.get_code

        def swap(self, fullname):
            path.write_text("VALUE = 'swapped'\n")
            return compiled(self, fullname)

        monkeypatch.setattr(CheckedLoader, "get_code", swap)
        tree.cover()
        imports(tree.root)
        assert load("p_mod").VALUE == "checked"
        assert path.read_text() == "VALUE = 'swapped'\n"
        assert importlib.reload(sys.modules["p_mod"]).VALUE == "checked"

    def test_a_file_that_appears_while_others_look(self, tree, imports, monkeypatch):
        """The guard has asked every finder in vain, and only then the file is there for Python's own to find."""
        tree.cover()
        imports(tree.root)
        asked = Guard.find_spec

        def plant(self, fullname, path, target=None):
            found = asked(self, fullname, path, target)
            if fullname == "p_late":
                tree.write("p_late.py", "VALUE = 'planted'\n")
                importlib.invalidate_caches()
            return found

        monkeypatch.setattr(Guard, "find_spec", plant)
        with pytest.raises(HeldImport):
            load("p_late")
        monkeypatch.setattr(module._Folder, "find_spec", importlib.machinery.FileFinder.find_spec)
        (tree.root / "p_late.py").unlink()
        assert load("p_late").VALUE == "planted"  # without the hook

    def test_a_file_or_folder_that_is_gone_is_still_what_was_checked(self, tree, imports, tmp_path):
        tree.write("p_pkg/__init__.py")
        tree.write("p_pkg/mod.py", "VALUE = 'checked'\n")
        (tmp_path / "later" / "p_pkg").mkdir(parents=True)
        (tmp_path / "later" / "p_pkg" / "mod.py").write_text("VALUE = 'other'\n")
        (tmp_path / "later" / "p_pkg" / "__init__.py").touch()
        tree.cover()
        imports(tmp_path / "later")
        imports(tree.root)
        shutil.rmtree(tree.root / "p_pkg")
        assert load("p_pkg.mod").VALUE == "checked"


class TestLinks:
    def test_out_of_the_project(self, tree, imports, tmp_path):
        """A file behind a link is accepted by its contents; what it is turned to later does not run."""
        (tmp_path / "good.py").write_text("VALUE = 'good'\n")
        (tmp_path / "evil.py").write_text("VALUE = 'evil'\n")
        (tree.root / "p_link.py").symlink_to(tmp_path / "good.py")
        made = tree.cover()
        imports(tree.root)
        (tree.root / "p_link.py").unlink()
        (tree.root / "p_link.py").symlink_to(tmp_path / "evil.py")
        assert load("p_link").VALUE == "good"
        made.cover(tree.root, {})
        with pytest.raises(HeldImport):
            load("p_link")

    def test_a_package_that_became_a_link_to_elsewhere(self, tree, imports, tmp_path):
        tree.write("p_pkg/__init__.py")
        tree.write("p_pkg/mod.py", "VALUE = 'good'\n")
        tree.cover()
        shutil.copytree(tree.root / "p_pkg", tmp_path / "evil")
        (tmp_path / "evil" / "mod.py").write_text("VALUE = 'evil'\n")
        (tmp_path / "evil" / "new.py").write_text("VALUE = 'evil'\n")
        shutil.rmtree(tree.root / "p_pkg")
        (tree.root / "p_pkg").symlink_to(tmp_path / "evil")
        imports(tree.root)
        assert load("p_pkg.mod").VALUE == "good"
        with pytest.raises(HeldImport, match=r"new\.py was not accepted"):
            load("p_pkg.new")

    @pytest.mark.parametrize("spelled", ["alias", "project/../project", "alias/sub/.."])
    def test_into_the_project(self, tree, imports, tmp_path, spelled):
        tree.write("sub/x.py")
        tree.write("p_mod.py", "VALUE = 'accepted'\n")
        tree.cover()
        tree.write("p_new.py")
        tree.write("p_mod.py", "VALUE = 'swapped'\n")
        (tmp_path / "alias").symlink_to(tree.root)
        imports(tmp_path / spelled)
        assert load("p_mod").VALUE == "accepted"
        with pytest.raises(HeldImport):
            load("p_new")

    def test_a_file_elsewhere_that_is_a_link_into_the_project(self, tree, imports, tmp_path):
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "p_before.py").touch()
        (tmp_path / "elsewhere" / "p_link.py").symlink_to(tree.write("p_mod.py"))
        tree.cover(accepted={})
        imports(tmp_path / "elsewhere")
        load("p_before")
        with pytest.raises(HeldImport):
            load("p_link")


class TestWorkspace:
    @pytest.fixture
    def workspace(self, tree):
        folder = tree.root / "files"
        folder.mkdir()
        (folder / "p_planted.py").write_text("VALUE = 'planted'\n")
        (folder / "p_planted_pkg").mkdir()
        return folder

    def test_even_what_was_accepted(self, tree, imports, workspace):
        imports(workspace)
        assert load("p_planted").VALUE == "planted"  # without the guard
        tree.cover()
        assert load("p_planted").VALUE == "planted"  # it was accepted
        guard().shut(workspace)
        with pytest.raises(HeldImport, match="lies in the workspace"):
            load("p_planted")

    def test_whenever_and_however_it_comes_onto_the_path(self, tree, imports, workspace, tmp_path):
        guard().shut(workspace)
        (tmp_path / "alias").symlink_to(workspace)
        (tree.root / "p_link.py").symlink_to(workspace / "p_planted.py")
        for folder, name in ((workspace, "p_planted"), (tmp_path / "alias", "p_planted"), (tree.root, "p_link")):
            imports(folder)
            with pytest.raises(HeldImport, match="lies in the workspace"):
                load(name)
        with pytest.raises(HeldImport, match="lies in the workspace"):
            load("files.p_planted")

    def test_a_link_that_a_tool_made_to_code_elsewhere(self, imports, workspace, tmp_path):
        (tmp_path / "p_outside.py").write_text("VALUE = 1\n")
        (workspace / "p_outside.py").symlink_to(tmp_path / "p_outside.py")
        guard().shut(workspace)
        imports(workspace)
        with pytest.raises(HeldImport, match="lies in the workspace"):
            load("p_outside")

    def test_its_folders_are_no_namespace_packages_and_hide_nobodys(self, imports, workspace, tmp_path):
        guard().shut(workspace)
        imports(workspace)
        with pytest.raises(ModuleNotFoundError):
            load("p_planted_pkg")
        (tmp_path / "lib" / "p_planted_pkg").mkdir(parents=True)
        (tmp_path / "lib" / "p_planted_pkg" / "__init__.py").write_text("VALUE = 1\n")
        sys.path.append(str(tmp_path / "lib"))
        assert load("p_planted_pkg").VALUE == 1

    def test_pythons_own_packages_in_it(self, imports, tmp_path):
        for folder in (Path(module.__file__).parents[1], Path(sysconfig.get_path("purelib")), Path("/")):
            with pytest.raises(ConfigError, match="a tool could rewrite them"):
                guard().shut(folder)
        guard().shut(tmp_path / "gone")

    def test_a_virtual_environment_in_the_project_is_not_the_projects(self, imports, tmp_path):
        """The libraries of this Python lie below the folder that is covered, and are not judged."""
        made = guard()
        made.cover(Path(sysconfig.get_path("purelib")).parents[2], {})
        sys.modules.pop("sybil", None)
        assert load("sybil").__name__ == "sybil"
        assert made.refused == []


def test_hundreds_of_modules_come_through(tree):
    for number in range(200):
        tree.write(f"many/m{number}.py", f"VALUE = {number}\n")
    script = (
        "import sys; from pathlib import Path\n"
        "from callslip.project.checked import check\nfrom callslip.project import files\n"
        "from callslip.project.imports import guard\n"
        f"root = Path({str(tree.root)!r})\n"
        "now = {n: files.digest(d) for n, d in files.covered(root).items()}\n"
        "guard().cover(root, check(root, now).files)\nsys.path.insert(0, str(root))\n"
        "import importlib\n"
        "print(sum(importlib.import_module(f'many.m{n}').VALUE for n in range(200)), guard().refused)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "19900 []\n"
