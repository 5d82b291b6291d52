#!/usr/bin/env python3
"""Combined verdict of the runs of one lab script: run again, passed, failed or not to be judged?

    verdict.py DIR          reads DIR/run-1, DIR/run-2 ...: output.txt (TAP), status, beside (if it ran beside another script),
                            machine.json (analyse.py machine); prints JSON {verdict, failed, unjudged, missed}

A check of behaviour that fails alone while the lab works has failed. Beside another script, or when the lab stood still or its
radio lost a connection, the script is run again alone, twice at most, whatever it missed; what fails in two runs has failed,
whatever the lab did. A limit (at_most, at_least) that is missed beside another script, or once alone, is measured again; missed
twice alone it has failed, if the machine can judge limits. If it never can, the script is not judged, and the limits are named.
"""
import json
import os
import re
import sys
from dataclasses import dataclass, field

RUNS = 3                                                # the first one, and twice more
NOT_OK = re.compile(r"^not ok \d+ - (.*)$")
LIMIT = re.compile(r"^(.*) \(got '-?[0-9.]+', at (?:most|least) [0-9.]+\)$")
RESULT = re.compile(r" \(.*\)$")                       # result of a check: not part of its name


@dataclass
class Run:
    passed: bool
    beside: bool = False
    still: bool = True                                  # the lab did not stall for longer than a script tolerates
    judges: bool = True                                 # the machine is fast enough to judge limits
    behaviour: dict = field(default_factory=dict)       # name of a failed check: its whole line
    limits: dict = field(default_factory=dict)

    @staticmethod
    def read(status, output, machine, beside):
        run = Run(passed=status == 0, beside=beside, still=machine.get("still", True), judges=machine.get("limits", True))
        for line in output.splitlines():
            if match := NOT_OK.match(line):
                if limit := LIMIT.match(match[1]):
                    run.limits[limit[1]] = match[1]
                else:
                    run.behaviour[RESULT.sub("", match[1])] = match[1]
        if not run.passed and not (run.behaviour or run.limits):
            last = output.strip().splitlines()[-1:] or ["no output"]
            run.behaviour["the script came to its end"] = f"the script came to its end (status {status}: {last[0]})"
        return run

    @property
    def measures(self):
        """Whether its missed limits are meaningful."""
        return self.judges and self.still and not self.beside


def verdict(runs):
    """(verdict, lines that failed, limits that could not be judged); the verdict is passed, failed, again or unjudged."""
    last = runs[-1]
    if last.passed:
        return "passed", [], []
    earlier = runs[:-1]
    repeated = [line for name, line in last.behaviour.items() if any(name in run.behaviour for run in earlier)]
    if last.still and not last.beside:
        repeated = list(last.behaviour.values())
    if last.measures:
        repeated += [line for name, line in last.limits.items() if any(name in run.limits for run in earlier if run.measures)]
    if repeated:
        return "failed", repeated, []
    if len(runs) < RUNS and (last.behaviour or not last.still or last.judges):
        return "again", [], []
    if last.behaviour:                                  # never passed, and never the same twice
        return "failed", list(last.behaviour.values()) + list(last.limits.values()), []
    if not last.measures:
        return "unjudged", [], list(last.limits.values())
    return "failed", list(last.limits.values()), []


def main():
    directory, runs = sys.argv[1], []
    while os.path.isdir(path := os.path.join(directory, f"run-{len(runs) + 1}")):
        def text(name, default=""):
            file = os.path.join(path, name)
            return open(file, errors="replace").read() if os.path.exists(file) else default
        runs.append(Run.read(int(text("status", "99")), text("output.txt"), json.loads(text("machine.json", "{}") or "{}"),
                             os.path.exists(os.path.join(path, "beside"))))
    result, failed, unjudged = verdict(runs)
    missed = [line for run in runs[:-1] for line in run.behaviour.values()] if result == "passed" else []
    print(json.dumps({"verdict": result, "runs": len(runs), "failed": failed, "unjudged": unjudged, "missed": missed}))


if __name__ == "__main__":
    main()
