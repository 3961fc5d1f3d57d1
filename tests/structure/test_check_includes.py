#!/usr/bin/env python3
import tempfile
import unittest
from pathlib import Path

from check_includes import MAY_USE, usable, violations


class Repository(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for module in MAY_USE:
            self.write(f"include/deepvoro/{module}/header.hpp", "#pragma once\n")

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def assert_allowed(self, path, text):
        self.write(path, text)
        self.assertEqual(violations(self.root), [])

    def assert_refused(self, path, text, line, *fragments):
        self.write(path, text)
        found = [str(violation) for violation in violations(self.root)]
        self.assertEqual(len(found), 1, found)
        for fragment in (f"{path}:{line}: ", *fragments):
            self.assertIn(fragment, found[0])

    def test_own_direct_and_transitive_modules_are_allowed(self):
        self.assert_allowed(
            "src/heads/file.cpp",
            "".join(f'#include "deepvoro/{m}/header.hpp"\n' for m in ("heads", "geometry", "kernels", "core")),
        )

    def test_faces_may_use_any_module(self):
        self.assert_allowed(
            "src/cli/main.cpp", "".join(f'#include "deepvoro/{module}/header.hpp"\n' for module in MAY_USE)
        )

    def test_using_back_is_refused_with_file_and_line(self):
        self.assert_refused(
            "src/core/file.cpp",
            '#include <vector>\n\n#include "deepvoro/study/header.hpp"\n',
            3,
            "core may not use study",
        )

    def test_using_sideways_is_refused(self):
        self.assert_refused(
            "include/deepvoro/geometry/diagram.hpp",
            "#include <deepvoro/features/header.hpp>\n",
            1,
            "geometry may not use features",
        )

    def test_the_umbrella_includes_every_public_header_and_nothing_else(self):
        everything = "".join(f'#include "deepvoro/{module}/header.hpp"\n' for module in MAY_USE)
        self.assert_allowed("include/deepvoro/deepvoro.hpp", everything)
        self.assert_refused("include/deepvoro/deepvoro.hpp", everything.replace('#include "deepvoro/core/header.hpp"\n', ""), 1, "core/header.hpp is not included")

    def test_the_umbrella_includes_nothing_private(self):
        everything = "".join(f'#include "deepvoro/{module}/header.hpp"\n' for module in MAY_USE)
        self.assert_refused("include/deepvoro/deepvoro.hpp", everything + '#include "core/details.hpp"\n', 1, "core/details.hpp is no public header")

    def test_a_private_header_belongs_to_its_module(self):
        self.write("src/study/details.hpp", "")
        self.assert_allowed("src/study/file.cpp", '#include "details.hpp"\n')
        self.assert_refused(
            "src/ensemble/file.cpp", '#  include "study/details.hpp"\n', 1, "ensemble may not use study"
        )

    def test_relative_paths_do_not_hide_a_module(self):
        self.write("src/study/details.hpp", "")
        self.assert_refused("src/core/file.cpp", '#include "../study/details.hpp"\n', 1, "core may not use study")

    def test_a_public_header_may_not_include_a_private_one(self):
        self.write("src/core/details.hpp", "")
        self.assert_refused("include/deepvoro/core/a.hpp", '#include "core/details.hpp"\n', 1, "private")

    def test_only_backbone_sees_torch(self):
        self.assert_allowed("src/backbone/file.cpp", "#include <torch/torch.h>\n#include <ATen/ATen.h>\n")
        self.assert_refused("src/cli/file.cpp", "#include <torch/script.h>\n", 1, "only backbone")

    def test_only_cluster_sees_mpi(self):
        self.assert_allowed("src/cluster/file.cpp", "#include <mpi.h>\n")
        self.assert_refused("src/study/file.cpp", "#include <mpi.h>\n", 1, "only cluster")

    def test_a_folder_that_is_no_module_is_refused(self):
        self.assert_refused("src/misc/file.cpp", "", 1, "not in the table")

    def test_a_missing_header_is_refused(self):
        self.assert_refused("src/core/file.cpp", '#include "nowhere.hpp"\n', 1, "not in this repository")

    def test_comments_are_not_includes(self):
        self.assert_allowed("src/core/file.cpp", '// #include "deepvoro/study/header.hpp"\n')

    def test_the_table_names_only_modules_and_has_no_circles(self):
        for module in MAY_USE:
            self.assertLessEqual(usable(module), set(MAY_USE))


if __name__ == "__main__":
    unittest.main()
