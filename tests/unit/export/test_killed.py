"""An export that is killed at any moment: the old folder or the new one, each complete."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.unit.export.folders import config_of, exported
from workbench.export import lint
from workbench.package import load

ROUNDS = 50
# One process that has imported and built everything makes a child for each round, exports in it and kills it.
DRIVER = """
    import os, random, signal, sys, time
    from pathlib import Path
    from tests.unit.export.folders import package
    from workbench.export import export
    place, rounds = Path(sys.argv[1]), int(sys.argv[2])
    made, chance = package(), random.Random(7)
    def write(number):
        export(made, place, overwrite=True, search={"top_k": number + 1}, progress=False)
    start = time.perf_counter()
    write(0)
    took = time.perf_counter() - start
    for number in range(rounds):
        through, ended = os.pipe()
        child = os.fork()
        if child == 0:
            while True:  # until it is killed, in the middle of whatever it does
                write(number)
                os.write(ended, b".")
        os.close(ended)
        if number % 2:  # however slow the machine is, half of them get through once
            os.read(through, 1)
        time.sleep(chance.uniform(0, 3 * took))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(through)
        print(number, flush=True)
        sys.stdin.readline()  # the test looks at the folder
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_random_moments(tmp_path: Path, repo: Path) -> None:
    folder = tmp_path / "x"
    exported(folder)
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(DRIVER), str(folder), str(ROUNDS)]
    process = subprocess.Popen(command, cwd=repo, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    unfinished, seen = 0, set()
    for number in range(ROUNDS):
        assert process.stdout.readline() == f"{number}\n"
        load(folder, verify=True)
        seen.add(config_of(folder)["search"]["top_k"])
        assert lint(folder).findings == ()
        unfinished += sum(name != "x" for name in os.listdir(tmp_path))
        process.stdin.write("\n")
        process.stdin.flush()
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert unfinished, "no export was ever caught in the middle"
    assert len(seen) > ROUNDS / 3, "exports never got through"
