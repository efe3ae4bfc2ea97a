"""Times the report of ten thousand points: large.py PROGRAM FOLDER.

Fails above the 5 seconds, 500 MB and 2 MB of page that it may take.
"""

import resource
import subprocess
import sys
import time
from pathlib import Path

SPEC = """\
name: large
model:
  loss_router:
    channels: [2, 4]
    interarrival: {poisson: 15}
    service: {poisson: 60}
    horizon: 3000
policies:
  - coin: {theta: 0.333}
  - theta: {rule: j, alpha: {linspace: [0, 1, 4999]}}
  - theta: {label: runs2, rule: j, max_run: 2, alpha: {linspace: [0, 1, 5000]}}
replications: 10
"""


def main() -> int:
    program, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    folder.mkdir(parents=True)
    spec, results = folder / "large.yaml", folder / "large"
    spec.write_text(SPEC)
    subprocess.run([program, spec, "--quiet", "--out", results], check=True, timeout=120)
    # The largest child so far is the run; a process of its own measures the report alone.
    return subprocess.call([sys.executable, __file__, program, folder, results])


def measure() -> int:
    program, results = sys.argv[1], Path(sys.argv[3])
    start = time.monotonic()
    subprocess.run([program, "report", results, "--quiet"], check=True, timeout=60)
    seconds = time.monotonic() - start
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    page = (results / "report.html").stat().st_size / 1e6
    print(f"the report of 10 000 points: {seconds:.2f} s, {memory:.0f} MB, a page of {page:.2f} MB")
    return int(seconds > 5 or memory > 500 or page > 2)


if __name__ == "__main__":
    sys.exit(measure() if len(sys.argv) == 4 else main())
