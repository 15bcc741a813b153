"""How long policy takes to decide about one command, once it is loaded.

Every command is another one, as those of a model are: nothing is known of it from before.
"""

import itertools
from collections.abc import Iterator

from bench.figures import Figure, Topic, at_most, timing
from bench.measure import Variant, blocking, in_turns
from bench.scene import Scene
from pycodex.supervisor.policy.command_line import segments_of
from pycodex.supervisor.policy.decision import Question, decide
from pycodex.supervisor.policy.rules import FORBIDDEN, PrefixRule, Rules

MAX_MS = 1
FEW_RULES, MANY_RULES = 20, 1000
SCRIPTS = {
    "one command": "cat src/file{0}.py",
    "a pipeline": "cd src && rg -n 'word {0}' . | head -20 && git status --short",
    "a script that cannot be taken apart": 'for f in *.py; do echo "$f {0}" >> out.txt; done',
}


async def measure(scene: Scene) -> list[Figure]:
    variants = {
        f"{name}, {count} rules": _deciding(script, _rules(count))
        for name, script in SCRIPTS.items()
        for count in (FEW_RULES, MANY_RULES)
    }
    spreads = await in_turns(variants, rounds=scene.scaled(40, 4), batch=25)
    return [
        timing(name, spread, goals=(at_most(f"p50 <= {MAX_MS} ms", spread.p50, MAX_MS),))
        for name, spread in spreads.items()
    ]


def _rules(count: int) -> Rules:
    return Rules(
        prefix_rules=tuple(
            PrefixRule(program=f"tool{number}", rest=(("a", "b"),), decision=FORBIDDEN) for number in range(count)
        )
    )


def _deciding(script: str, rules: Rules) -> Variant:
    numbers: Iterator[int] = itertools.count()

    def once() -> None:
        argv = ("/bin/bash", "-lc", script.format(next(numbers)))
        segments = segments_of(argv)
        decide(Question(argv=argv, segments=segments, rules=rules, policy="on-request", restricted=True))

    return blocking(once)


TOPIC = Topic("decision", "whether one command is run, asked about or refused", measure)
