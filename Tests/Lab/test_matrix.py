"""Tests of matrix: a run of some scripts updates their cells alone, and the page says what the data says."""
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
loader = importlib.machinery.SourceFileLoader("matrix", os.path.join(HERE, "matrix"))
matrix = importlib.util.module_from_spec(importlib.util.spec_from_loader("matrix", loader))
loader.exec_module(matrix)


class MatrixTests(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.addCleanup(setattr, matrix, "DATA", matrix.DATA)
        self.addCleanup(setattr, matrix, "NOTES", matrix.NOTES)
        matrix.DATA = os.path.join(self.directory.name, "matrix.tsv")
        matrix.NOTES = os.path.join(self.directory.name, "notes.tsv")

    def verdict(self, name, verdict, failed=()):
        path = os.path.join(self.directory.name, "out", name)
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(path, "verdict.json"), "w") as f:
            json.dump({"verdict": verdict, "runs": 1, "failed": list(failed), "unjudged": []}, f)

    def record(self, stack, since=0):
        matrix.record(stack, os.path.join(self.directory.name, "out"), since)

    def test_a_run_updates_the_cells_of_its_scripts_alone(self):
        first, second = matrix.scripts()[:2]
        self.verdict(first, "failed", ["a check (got '1', wanted '2')"])
        self.verdict(second, "passed")
        self.record("debian13")
        self.assertEqual(matrix.results()[first, "debian13"][:2], ("failed", "a check (got '1', wanted '2')"))
        self.verdict(first, "passed")
        os.utime(os.path.join(self.directory.name, "out", second, "verdict.json"), (1, 1))
        self.verdict("no-script", "passed")
        self.record("sid", since=10)
        self.assertEqual({key: row[0] for key, row in matrix.results().items()},
                         {(first, "debian13"): "failed", (second, "debian13"): "passed", (first, "sid"): "passed"})

    def test_the_table_names_the_check_that_failed_its_cause_and_what_is_impossible(self):
        first, second = matrix.scripts()[:2]
        self.verdict(first, "failed", ["a check"])
        self.record("debian13")
        with open(matrix.NOTES, "w") as f:
            f.write(f"# comment\n{first}\tdebian13\tcause\tbluetoothd's\n{second}\tsid\timpossible\tno card\n")
        table = matrix.table()
        self.assertIn(f"| `{first}` | not run | failed | not run | not run |", table)
        self.assertIn(f"| `{first}` | debian13 | a check | bluetoothd's |", table)
        self.assertIn(f"| `{second}` | not run | not run | impossible | not run |", table)
        self.assertIn(f"| `{second}` | sid | no card |", table)

    def test_a_run_that_is_to_be_repeated_is_no_result(self):
        self.verdict(matrix.scripts()[0], "again")
        self.record("debian13")
        self.assertEqual(matrix.results(), {})


class PageTests(unittest.TestCase):
    def test_the_page_says_what_the_data_says(self):
        said = subprocess.run([os.path.join(HERE, "matrix"), "page", "--check"], capture_output=True, text=True)
        self.assertEqual((said.returncode, said.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
