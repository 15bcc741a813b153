"""`python bench/run.py [TOPIC...]`: measures the parts and prints what was found beside the goals.

Owns the command line of the benchmark and its exit code: 0 when every topic could be measured, whatever the figures.
Takes topic names, gives one table a topic on stdout and the same as JSON in a file.
"""

import argparse
import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    # Started as a file, Python looks for modules beside that file; ours are named from the checkout.
    sys.path[0] = str(ROOT)
    if importlib.util.find_spec("pycodex") is None:
        sys.exit(f"Error: {sys.executable} does not find pycodex; try: make bench")
    from bench.catalogue import TOPICS
    from bench.session import run_topics

    names = [topic.name for topic in TOPICS]
    parser = _parser(names)
    arguments = parser.parse_args()
    for name in arguments.topics:
        if name not in names:
            parser.error(f"no topic {name!r}; there are: {', '.join(names)}")
    chosen = [topic for topic in TOPICS if topic.name in (arguments.topics or names)]
    return run_topics(chosen, pycodex=arguments.pycodex, quick=arguments.quick, json_path=arguments.json)


def _parser(names: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bench/run.py",
        description="Measure the parts of pycodex. Every ratio is against subprocess.run of the same command, "
        "taken in turns with it in the same run.",
    )
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=", ".join(names))
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures as JSON; - for stdout")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: under half a minute, rougher figures")
    parser.add_argument(
        "--pycodex", type=Path, metavar="PATH", help="the command to measure (default: the one beside this interpreter)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
