"""The words and the layout of `pycodex policy explain`.

Owns both. Takes an explanation and the confinement that goes with it, gives lines; decides nothing.
"""

from collections.abc import Iterator, Sequence

from pycodex.protocol.confinement import Confinement
from pycodex.protocol.turn_context import ApprovalPolicy
from pycodex.supervisor.cli.sandbox_explain import Row, laid_out, plan_rows
from pycodex.supervisor.cli.terminal import Palette, printable
from pycodex.supervisor.config.config import Config
from pycodex.supervisor.policy.decision import (
    BY_DANGER_LIST,
    BY_ESCALATION,
    BY_LENGTH,
    BY_POLICY,
    BY_SAFE_LIST,
    LEAVES_REASON,
    Ask,
    Refuse,
)
from pycodex.supervisor.policy.escalation import USE_DEFAULT, refusal
from pycodex.supervisor.policy.explanation import (
    ASKS_AGAIN,
    DOES_MORE,
    FAILS,
    FED,
    NAMESAKE,
    OPAQUE,
    PLAIN,
    REPEATS,
    STRANGE_SHELL,
    ExplainedPart,
    Explanation,
    PassedOver,
    Said,
)
from pycodex.supervisor.policy.located_rules import REQUIREMENTS, Origin
from pycodex.supervisor.policy.questions import ASKS, IN_SANDBOX, NO_SANDBOX, OUTSIDE, REFUSED, outcome_of
from pycodex.supervisor.policy.rule_writer import line_of
from pycodex.supervisor.policy.rules import ALLOW, FORBIDDEN, PROMPT
from pycodex.supervisor.text.argv import shown

OUTCOMES = {
    IN_SANDBOX: "runs in the sandbox",
    OUTSIDE: "runs outside the sandbox",
    NO_SANDBOX: "runs; there is no sandbox",
    ASKS: "asks the person",
    REFUSED: "is refused",
}
_GROUNDS = {
    BY_SAFE_LIST: "known to change nothing",
    BY_DANGER_LIST: "known to destroy",
    BY_ESCALATION: "asks to leave the sandbox",
    BY_LENGTH: "too long to be checked against the rules",
}
_DENIALS = {
    FAILS: "it fails, and the model is told; nobody is asked",
    ASKS_AGAIN: "the person is asked whether to run it again without the sandbox",
    REPEATS: "it runs again without the sandbox, as the person has said yes to that for this session",
}
_WHY_PASSED_OVER = {
    DOES_MORE: "the script also opens files or sets variables, of which the rule says nothing",
    STRANGE_SHELL: "the script is read by a program that may only be called like a shell",
    NAMESAKE: "no host_executable says that this path is the program that the rule means",
}
_OPAQUE = (
    "cannot be taken apart: it is more than plain commands between && || ; and |",
    "so it is judged as a whole: no rule frees it by a program in it, and one that forbids or asks about a program",
    "counts only where that program can be made out",
)
_GUARD = "; under this approval policy it must not, whatever it asks for"
_FED = "one command that reads a here-document; such a one never counts as known to change nothing"
_LONGEST_COMMAND = 60


def explained_lines(
    explanation: Explanation, confinement: Confinement | None, config: Config, palette: Palette
) -> Iterator[str]:
    yield from laid_out(_terms(explanation, config), palette)
    yield ""
    yield from laid_out(_parts(explanation, palette), palette)
    yield ""
    yield from laid_out(_verdict(explanation, palette), palette)
    if confinement is not None:
        yield ""
        yield from laid_out(_around(confinement), palette)


def _around(confinement: Confinement) -> Iterator[Row]:
    """The plan as `sandbox --explain` tells it, without what it has nothing to say about."""
    for label, values in plan_rows(confinement):
        if values or label == "writable":
            yield label, list(map(printable, values))
        if confinement.unconfined_because:
            return


def patch_lines(argv: Sequence[str], problem: str, palette: Palette) -> Iterator[str]:
    """For a command that is a patch. `problem` is what the model is told of one that cannot be applied, if anything."""
    rows: list[Row] = [("command", [_cut(shown(argv))])]
    if problem:
        rows += [("verdict", [palette.bad(OUTCOMES[REFUSED])]), ("model is told", [printable(problem)])]
    else:
        rows.append(
            (
                "verdict",
                [
                    "is not run but applied, as the tool apply_patch would do it",
                    "whether that is asked about depends on the files that it writes, not on rules",
                ],
            )
        )
    yield from laid_out(rows, palette)


def _terms(explanation: Explanation, config: Config) -> Iterator[Row]:
    yield "command", [one_line(shown(explanation.question.argv))]
    yield "directory", [printable(config.cwd)]
    yield "terms", [f"approval policy {policy_text(config.approval_policy)}, sandbox {config.permissions.mode}"]
    if explanation.question.asked != USE_DEFAULT:
        is_let = refusal(config.approval_policy, verb="") is None
        yield "", [f"the model asks to leave the sandbox{'' if is_let else _GUARD}"]
    if explanation.form == OPAQUE:
        yield "script", list(_OPAQUE)
    elif explanation.form == FED:
        yield "script", [_FED]
    elif explanation.form == PLAIN and len(explanation.parts) > 1:
        yield "script", [f"{len(explanation.parts)} commands; the strictest word counts for all of them"]


def _parts(explanation: Explanation, palette: Palette) -> Iterator[Row]:
    commands = [_cut(shown(part.command)) for part in explanation.parts]
    width = max(map(len, commands))
    for number, (part, command) in enumerate(zip(explanation.parts, commands, strict=True), 1):
        label = "part" if len(explanation.parts) == 1 else f"part {number}"
        yield label, list(_part(part, command.ljust(width), explanation, palette))


def _part(part: ExplainedPart, command: str, explanation: Explanation, palette: Palette) -> Iterator[str]:
    for at, said in enumerate(part.said):
        yield f"{command if at == 0 else ' ' * len(command)}  {_said(said, explanation, palette)}"
    for rule in part.passed_over:
        yield f"{' ' * len(command)}  {palette.faint(_passed_over(rule))}"


def _said(said: Said, explanation: Explanation, palette: Palette) -> str:
    decision = said.word.decision
    paint = {ALLOW: palette.good, PROMPT: palette.doubtful, FORBIDDEN: palette.bad}[decision]
    word = paint(decision.ljust(len(FORBIDDEN)))
    return f"{word}  {_ground(said, explanation)}"


def _ground(said: Said, explanation: Explanation) -> str:
    rule = said.word.rule
    if rule is None:
        if said.word.ground == BY_POLICY:
            return f"approval policy {policy_text(explanation.question.policy)}"
        return _GROUNDS[said.word.ground]
    because = "" if rule.justification is None else f": {printable(rule.justification)}"
    return f"{_place(said.origin)} on `{printable(shown(rule.matched_prefix))}`{because}"


def _place(origin: Origin | None) -> str:
    if origin is None:
        return "rule"
    if origin.level == REQUIREMENTS:
        return f"rule of the administrator, {printable(origin.path)},"
    return f"rule {printable(origin.place)}"


def _passed_over(passed: PassedOver) -> str:
    return f"{_place(passed.origin)} does not count: {_WHY_PASSED_OVER[passed.why]}"


def _verdict(explanation: Explanation, palette: Palette) -> Iterator[Row]:
    verdict, outcome = explanation.verdict, explanation.outcome
    paint = {ASKS: palette.doubtful, REFUSED: palette.bad}.get(outcome, palette.good)
    text = paint(OUTCOMES[outcome])
    if isinstance(verdict, Refuse):
        yield "verdict", [text]
        yield "model is told", [printable(verdict.text)]
        return
    if isinstance(verdict, Ask):
        yield "verdict", [text]
        yield "reason", [_reason(verdict)]
        yield "offered", list(_offers(verdict))
        after = outcome_of(verdict.then, explanation.question)
        yield "after a yes", [_with_reason(OUTCOMES[after], verdict.then.unconfined_because)]
    else:
        yield "verdict", [_with_reason(text, verdict.unconfined_because)]
    if explanation.on_denial is not None:
        again = explanation.asked_again
        offers = [] if again is None or again.amendment is None else [_for_good(again.amendment)]
        yield "if denied", [_DENIALS[explanation.on_denial], *offers]


def _reason(ask: Ask) -> str:
    if ask.reason is not None:
        return printable(ask.reason)
    # What the question says then is up to `tools/orchestrator`.
    return (
        f"what the model says for it, else: {LEAVES_REASON}" if ask.then.unconfined_because else "what the model says"
    )


def _offers(ask: Ask) -> Iterator[str]:
    yield "yes, once"
    if ask.amendment is not None:
        yield _for_good(ask.amendment)
    yield "no, and stop"


def _for_good(words: Sequence[str]) -> str:
    return f"yes, and for good: {printable(line_of(words).rstrip())}"


def _with_reason(text: str, because: str) -> str:
    return f"{text}: {because}" if because else text


def policy_text(policy: ApprovalPolicy) -> str:
    if isinstance(policy, str):
        return policy
    on = [name for name, is_on in policy["granular"].items() if is_on]
    return f"granular ({', '.join(on) or 'nothing is asked'})"


def one_line(text: str) -> str:
    return printable(text.replace("\n", "\\n"))


def _cut(text: str) -> str:
    text = one_line(text)
    return text if len(text) <= _LONGEST_COMMAND else f"{text[: _LONGEST_COMMAND - 3]}..."
