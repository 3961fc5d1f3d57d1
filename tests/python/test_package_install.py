"""The package as users meet it: docstrings, examples, stubs, documents and `pip install`."""
import ast
import doctest
import inspect
import os
import re
import shutil
import subprocess
import sys
import tarfile
from importlib import import_module
from pathlib import Path

import deepvoro
import numpy as np
import pytest
from deepvoro import _core

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DEEPVORO_BUILD", REPOSITORY / "build"))
EXAMPLES = sorted((REPOSITORY / "examples" / "python").glob("*.py"))
MODULES = ["deepvoro", *(f"deepvoro.{file.stem}" for file in (REPOSITORY / "python/deepvoro").glob("_[a-z]*.py"))]
CHECKED = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def docstring_tests():
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in [*MODULES, "deepvoro._core"]:
        for test in finder.find(import_module(name), name):
            if test.examples:
                yield test
    for test in finder.find(_core.FeatureStore, "deepvoro.FeatureStore", module=False):
        if test.examples:
            yield test


@pytest.mark.parametrize("test", docstring_tests(), ids=lambda test: test.name)
def test_examples_of_docstrings(test, tmp_path, monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    test.globs.update(deepvoro=deepvoro, np=np, folder=tmp_path)
    failed, _ = doctest.DocTestRunner(optionflags=CHECKED).run(test)
    assert failed == 0


def test_everything_public_has_a_docstring_with_an_example():
    for name in ("Classifier", "DeepVoroClassifier", "VoronoiLogisticRegression", "SimpleShotClassifier", "FeatureStore",
                 "create_store", "episodes", "evaluate", "tune"):
        assert ">>>" in getattr(deepvoro, name).__doc__, name
    assert all(inspect.getdoc(getattr(deepvoro, name)) for name in deepvoro.__all__ if name != "__version__")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda file: file.stem)
def test_example_runs(example, tmp_path):
    done = subprocess.run([sys.executable, example], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "MPLCONFIGDIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert done.stdout
    if example.stem == "plot_diagram":
        assert (tmp_path / "diagram.png").stat().st_size > 10_000


def test_there_are_examples():
    assert {example.stem for example in EXAMPLES} == {"signed_features", "compare_methods", "plot_diagram", "photographs"}


# --- stubs ------------------------------------------------------------------------------------------


def public(names):
    return {name for name in names if not name.startswith("_")}


def parameters_of_docstring(function):
    """pybind11 writes the signature into the first line of a docstring."""
    signature = function.__doc__.split("\n")[0]
    inner = signature[signature.index("(") + 1 : signature.rindex(")")]
    depth, names, current = 0, [], ""
    for character in inner + ",":
        depth += character in "[(" 
        depth -= character in "])"
        if character == "," and depth == 0:
            names.append(current.split(":")[0].split("=")[0].strip())
            current = ""
        else:
            current += character
    return [name for name in names if name and name not in ("self", "*")]


def parameters_of_stub(function):
    arguments = function.args
    return [a.arg for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs] if a.arg != "self"]


def test_stubs_name_what_the_module_has():
    tree = ast.parse((REPOSITORY / "python/deepvoro/_core.pyi").read_text())
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    values = {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}
    assert public([*functions, *classes, *values]) == public(vars(_core))
    for name, node in functions.items():
        assert parameters_of_stub(node) == parameters_of_docstring(getattr(_core, name)), name
    for name in public(classes):
        methods = {node.name: node for node in classes[name].body if isinstance(node, ast.FunctionDef)}
        bound = getattr(_core, name)
        assert public(methods) == public(vars(bound)), name
        for method, node in methods.items():
            is_property = any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list)
            assert is_property == isinstance(getattr(bound, method), property), (name, method)
            if not is_property:
                assert parameters_of_stub(node) == parameters_of_docstring(getattr(bound, method)), (name, method)


def test_functions_of_the_package_have_type_hints():
    for name in ("create_store", "episodes", "evaluate", "tune"):
        signature = inspect.signature(getattr(deepvoro, name))
        hints = [p.annotation for p in signature.parameters.values()] + [signature.return_annotation]
        assert inspect.Signature.empty not in hints, name


# --- pip install ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A virtual environment with the package, installed without a network from what is built already."""
    build = os.environ.get("DEEPVORO_BUILD", str(REPOSITORY / "build"))
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-build-isolation", REPOSITORY],
        capture_output=True, text=True, cwd=folder, env={**os.environ, "DEEPVORO_BUILD": build, "PYTHONPATH": ""})
    assert done.returncode == 0, done.stdout + done.stderr
    return python


def run_installed(python, code):
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, env=environment, cwd=python.parent)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_pip_installs_a_package_that_stands_alone(installed):
    code = """
import deepvoro, numpy as np
model = deepvoro.DeepVoroClassifier().fit(np.eye(3), ["a", "b", "c"])
print(deepvoro.__file__, "".join(model.predict(np.eye(3))))
print([line.split()[-1] for line in open("/proc/self/maps") if "deepvoro/_core" in line][0])
"""
    where, library = run_installed(installed, code).splitlines()
    assert where.split() == [str(next(installed.parents[1].glob("lib/python3*/site-packages/deepvoro/__init__.py"))), "abc"]
    assert Path(library).parent == Path(where.split()[0]).parent


def test_wheel_metadata(installed):
    version = re.search(r"project\(deepvoro VERSION (\S+)", (REPOSITORY / "CMakeLists.txt").read_text())[1]
    assert deepvoro.__version__ == version
    code = """
from importlib.metadata import metadata, files
about = metadata("deepvoro")
print(about["Version"], about["License"], about["Requires-Dist"], about["Summary"], sep="|")
print(sorted(file.name for file in files("deepvoro") if file.parent.name == "deepvoro"))
print([line for line in files("deepvoro") if line.name == "WHEEL"][0].read_text())
"""
    about, names, wheel = run_installed(installed, code).split("\n", 2)
    summary = "Few-shot classification by cluster-induced Voronoi diagrams"
    assert re.sub("[ ()]", "", about) == re.sub("[ ()]", "", f"{version}|MIT|numpy>=1.20|{summary}")
    assert {"__init__.py", "_core.pyi", "py.typed"} <= set(ast.literal_eval(names))
    assert "Root-Is-Purelib: false" in wheel


@pytest.fixture
def sketches(tmp_path):
    with tarfile.open(REPOSITORY / "data/quickdraw/pictures/novel.tar") as archive:
        archive.extractall(tmp_path, [entry for entry in archive if re.match(r"(angel|axe)/00", entry.name)])
    return tmp_path


def test_the_installed_package_looks_at_pictures_without_libtorch(installed, sketches):
    code = f"""
import deepvoro
classifier = deepvoro.Classifier.fit({str(sketches)!r}, views="1")
print([answer.label for answer in classifier.predict([{str(sketches)!r} + "/angel/007.png"])])
print(any("torch" in line for line in open("/proc/self/maps")))
"""
    labels, loads_libtorch = run_installed(installed, code).splitlines()
    assert labels == "['angel']"
    assert loads_libtorch == "False"


@pytest.mark.skipif(not (BUILD / "lib/libdeepvoro_backbone.so").is_file(), reason="built without LibTorch")
def test_missing_libtorch_is_one_line_that_names_its_package(installed, sketches, tmp_path_factory):
    folder = tmp_path_factory.mktemp("without")
    package = next(installed.parents[1].glob("lib/python3*/site-packages/deepvoro"))
    shutil.copytree(package, folder / "deepvoro")
    # A library that needs one which is not there, as the real one does where LibTorch is missing.
    for name, needs in (("torch_that_is_missing", []), ("deepvoro_backbone", ["-Wl,--no-as-needed", "-ltorch_that_is_missing"])):
        subprocess.run(["gcc", "-shared", "-o", f"lib{name}.so", "-x", "c", "/dev/null", "-L.", *needs], cwd=folder, check=True)
    (folder / "libdeepvoro_backbone.so").replace(folder / "deepvoro/libdeepvoro_backbone.so")
    (folder / "libtorch_that_is_missing.so").unlink()
    (folder / "module.ts").touch()
    code = f"""
import sys
sys.path.insert(0, {str(folder)!r})
import deepvoro
try:
    deepvoro.Classifier.fit({str(sketches)!r}, backbone={str(folder / "module.ts")!r})
except deepvoro.Error as error:
    print(error)
"""
    said = run_installed(installed, code).splitlines()
    assert len(said) == 1 and "need LibTorch: apt-get install libtorch" in said[0], said
    assert "libtorch_that_is_missing.so" in said[0]


def test_the_package_works_without_scikit_learn_until_an_estimator_is_asked_for():
    code = """
import sys
sys.modules["sklearn"] = None
import deepvoro
print(len(deepvoro.episodes([0] * 20 + [1] * 20, ways=2).query), "DeepVoroClassifier" in dir(deepvoro))
try:
    deepvoro.DeepVoroClassifier
except ImportError as error:
    print("sklearn" in str(error))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "2000 True\nTrue\n"
