#!/usr/bin/env python3
import tempfile
import unittest
from pathlib import Path

from check_names import repetitions


def in_namespace(text, name="deepvoro"):
    head = f"namespace {name}" if name else "namespace"
    return f"{head} {{\n\n{text}\n\n}}  // {head}\n"


class Repository(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def test_one_name_in_two_headers_is_refused_with_both_places(self):
        for kind in ("class", "struct", "enum class", "union"):
            self.write("src/a/x.hpp", in_namespace(f"{kind} Log {{\n}};"))
            self.write("include/deepvoro/b/y.hpp", in_namespace("template <typename T>\nstruct Log : Base {\n};"))
            found = repetitions(self.root)
            self.assertEqual(len(found), 1, found)
            for fragment in ("deepvoro::Log", "src/a/x.hpp:3", "include/deepvoro/b/y.hpp:4"):
                self.assertIn(fragment, found[0])

    def test_a_source_file_counts_too(self):
        self.write("src/a/x.hpp", in_namespace("class Log final : public Base {\n};"))
        self.write("src/b/y.cpp", in_namespace("struct Log {};"))
        self.assertEqual(len(repetitions(self.root)), 1)

    def test_unnamed_namespaces_belong_to_their_files(self):
        for file in ("src/a/x.cpp", "src/a/y.cpp"):
            self.write(file, in_namespace(in_namespace("struct Log {\n};", name=""), name="deepvoro"))
        self.assertEqual(repetitions(self.root), [])

    def test_other_namespaces_and_members_and_declarations_are_other_names(self):
        self.write("src/a/x.hpp", in_namespace("class Log {\n  struct Step {\n  };\n};"))
        self.write("src/a/y.hpp", in_namespace("class Log;\nclass Step {\n};"))
        self.write("src/a/z.hpp", in_namespace("class Log {\n};", name="deepvoro::study"))
        self.assertEqual(repetitions(self.root), [])


if __name__ == "__main__":
    unittest.main()
