"""Tests of matrix: a run of some scripts updates their cells alone, and the page says what the data says."""
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import tempfile
import unittest
import unittest.mock

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
        self.addCleanup(setattr, matrix, "PAGE", matrix.PAGE)
        matrix.DATA = os.path.join(self.directory.name, "matrix.tsv")
        matrix.NOTES = os.path.join(self.directory.name, "notes.tsv")
        matrix.PAGE = os.path.join(self.directory.name, "Matrix.md")

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

    def test_scripts_without_a_result_are_those_that_are_missing(self):
        first, second, third = matrix.scripts()[:3]
        self.verdict(first, "unjudged")
        self.record("sid")
        with open(matrix.NOTES, "w") as f:
            f.write(f"{second}\tsid\timpossible\tno card\n")
        self.assertEqual(matrix.choose("sid", [], missing=True), [name for name in matrix.scripts() if name not in (first, second)])
        self.assertEqual(matrix.choose("sid", [third[:2]], missing=True)[0], third)
        self.assertEqual(matrix.choose("sid", [first], missing=True), [])
        self.assertEqual(matrix.choose("sid", [first], missing=False), [first])

    def test_a_verdict_is_recorded_while_other_scripts_still_run(self):
        first, second = matrix.scripts()[:2]
        lab = self.directory.name
        with open(matrix.PAGE, "w") as f:
            f.write(matrix.BEGIN + matrix.END)
        # Stands for run-all: the first script's verdict, then the second's, once the first is in the table.
        program = os.path.join(lab, "run-all")
        with open(program, "w") as f:
            f.write(f"""#!/bin/sh
mkdir -p {lab}/sid/out/{first} {lab}/sid/out/{second}
echo '{{"verdict": "passed", "failed": [], "unjudged": []}}' > {lab}/sid/out/{first}/verdict.json
for i in $(seq 300); do grep -q '^{first}.sid.passed' {matrix.DATA} 2>/dev/null && break; sleep 0.1; done
grep -q '^{first}.sid.passed' {matrix.DATA} || exit 9
echo '{{"verdict": "failed", "failed": ["a check"], "unjudged": []}}' > {lab}/sid/out/{second}/verdict.json
exit 1
""")
        os.chmod(program, 0o755)
        with unittest.mock.patch.dict(os.environ, LAB_DIR=lab):
            self.assertEqual(matrix.run("sid", [first, second], program=program), 1)
        self.assertEqual({key: row[:2] for key, row in matrix.results().items()},
                         {(first, "sid"): ("passed", ""), (second, "sid"): ("failed", "a check")})
        with open(matrix.PAGE) as f:
            self.assertIn(f"| `{second}` | sid | a check | not explained yet |", f.read())

    def test_programs_of_other_sources_are_named_by_their_own_commit(self):
        def git(*words):
            return subprocess.run(["git", "-C", self.directory.name, "-c", "user.name=t", "-c", "user.email=t@localhost", *words],
                                  capture_output=True, text=True, check=True).stdout.strip()
        git("init", "-q")
        commits = []
        for name in ("Sources/a", "Sources/b", "docs/c"):
            os.makedirs(os.path.join(self.directory.name, os.path.dirname(name)), exist_ok=True)
            open(os.path.join(self.directory.name, name), "w").close()
            git("add", name)
            git("commit", "-q", "-m", name)
            commits.append(git("rev-parse", "HEAD"))
        built = os.path.join(self.directory.name, "stacks")
        os.makedirs(os.path.join(built, "debian13"))
        with unittest.mock.patch.multiple(matrix, ROOT=self.directory.name, BUILT=built):
            self.assertIsNone(matrix.programs("sid"))
            for number, expected in enumerate([commits[0][:8], None, None]):
                with open(os.path.join(built, "debian13/commit"), "w") as f:
                    f.write(commits[number] + "\n")
                self.assertEqual(matrix.programs("sid"), expected)
            self.assertIsNone(matrix.programs("debian12"))


class PageTests(unittest.TestCase):
    def test_the_page_says_what_the_data_says(self):
        said = subprocess.run([os.path.join(HERE, "matrix"), "page", "--check"], capture_output=True, text=True)
        self.assertEqual((said.returncode, said.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
