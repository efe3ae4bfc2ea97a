"""Times the report of ten thousand points: large.py PROGRAM FOLDER.

Fails above the 5 seconds, 500 MB and 2 MB of page that it may take, be it few long sweeps or many
scenarios.
"""

import resource
import subprocess
import sys
import time
from pathlib import Path

SPECS = {
    "sweeps": """\
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
""",
    "scenarios": """\
model:
  supermarket:
    servers: 4
    interarrival: {exponential: 1}
    load: {linspace: [0.1, 0.9, 1000]}
    service: {exponential: 1}
    arrivals: 300
policies:
  - sq: {d: {values: [1, 2, 3]}}
  - sq: {label: m, memory: {values: [1, 2, 3]}}
  - jsq
  - jiq
  - random
  - round_robin
replications: 5
""",
}


def main() -> int:
    program, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    folder.mkdir(parents=True)
    worst = 0
    for name, text in SPECS.items():
        spec, results = folder / f"{name}.yaml", folder / name
        spec.write_text(f"name: {name}\n{text}")
        subprocess.run([program, spec, "--quiet", "--out", results], check=True, timeout=120)
        # The largest child so far is the run; a process of its own measures the report alone.
        worst |= subprocess.call([sys.executable, __file__, program, folder, results])
    return worst


def measure() -> int:
    program, results = sys.argv[1], Path(sys.argv[3])
    start = time.monotonic()
    subprocess.run([program, "report", results, "--quiet"], check=True, timeout=60)
    seconds = time.monotonic() - start
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    page = (results / "report.html").stat().st_size / 1e6
    print(f"{results.name}: {seconds:.2f} s, {memory:.0f} MB, a page of {page:.2f} MB")
    return int(seconds > 5 or memory > 500 or page > 2)


if __name__ == "__main__":
    sys.exit(measure() if len(sys.argv) == 4 else main())
