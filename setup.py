"""The part of the package that CMake builds; everything else is in pyproject.toml."""

import os
import re
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
# build/ is the folder of CMake; what setuptools leaves behind goes beside it.
WORK = "build-wheel"


class BuildWithCMake(build_ext):
    """Puts the module and the libraries into the package. DEEPVORO_BUILD names a CMake build folder to take them from."""

    def build_extension(self, ext):
        package = Path(self.get_ext_fullpath(ext.name)).resolve().parent
        build = os.environ.get("DEEPVORO_BUILD")
        if build is None:
            build = Path(self.build_temp).resolve()
            self.cmake("-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DDEEPVORO_PYTHON=ON",
                       "-DDEEPVORO_TESTS=OFF", f"-DPython_EXECUTABLE={sys.executable}")
        self.cmake("--build", build, "--target", "deepvoro_wheel", "--parallel", os.cpu_count() or 1)
        self.cmake("--install", build, "--component", "python", "--prefix", package.parent)

    @staticmethod
    def cmake(*arguments):
        subprocess.run(["cmake", *map(str, arguments)], check=True)


version = re.search(r"project\(deepvoro VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
os.chdir(ROOT)
Path(WORK).mkdir(exist_ok=True)
setup(
    version=version,
    ext_modules=[Extension("deepvoro._core", sources=[])],
    cmdclass={"build_ext": BuildWithCMake},
    options={"build": {"build_base": WORK}, "egg_info": {"egg_base": WORK}},
)
