"""Whether rules do to their own examples what their author says.

Owns the check and its texts, which show rules in the reference's form. Examples are tried against the rules of their
own call alone, with hosts resolved. Pure; the rest of a text's words is loaded only where an example fails.
"""

from pycodex.supervisor.policy.rules import HostExecutable, PrefixRule, RuleMatch, Rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pycodex.supervisor.policy.rule_arguments import Claim


def broken_claim(claim: "Claim", hosts: "Sequence[HostExecutable]") -> str | None:
    """What is wrong, or None."""
    rules = Rules(prefix_rules=claim.rules, host_executables=tuple(hosts))
    for example in claim.not_match:
        matches = rules.matches(example, resolve_hosts=True)
        if matches:
            return f"expected example to not match rule `{_shown_match(matches[0])}`: {_line(example)}"
    unmatched = [example for example in claim.match if not rules.matches(example, resolve_hosts=True)]
    if not unmatched:
        return None
    shown_rules = _list(_shown_rule(rule) for rule in claim.rules)
    examples = _list(map(_line, unmatched))
    return f"expected every example to match at least one rule. rules: {shown_rules}; unmatched examples: {examples}"


def _line(argv: "Sequence[str]") -> str:
    from pycodex.supervisor.text.argv import shown

    return shown(argv)


def _quoted(text: str) -> str:
    from pycodex.supervisor.text.quoting import quoted

    return quoted(text)


def _list(texts: "Iterable[str]") -> str:
    return f"[{', '.join(map(_quoted, texts))}]"


def _maybe(text: str | None) -> str:
    return "None" if text is None else f"Some({_quoted(text)})"


def _shown_rule(rule: PrefixRule) -> str:
    rest = ", ".join(f"Single({_quoted(each[0])})" if len(each) == 1 else f"Alts({_list(each)})" for each in rule.rest)
    pattern = f"PrefixPattern {{ first: {_quoted(rule.program)}, rest: [{rest}] }}"
    decision, justification = rule.decision.capitalize(), _maybe(rule.justification)
    return f"PrefixRule {{ pattern: {pattern}, decision: {decision}, justification: {justification} }}"


def _shown_match(match: RuleMatch) -> str:
    program = match.resolved_program
    resolved = "None" if program is None else f"Some(AbsolutePathBuf({_quoted(program)}))"
    fields = (
        f"matched_prefix: {_list(match.matched_prefix)}",
        f"decision: {match.decision.capitalize()}",
        f"resolved_program: {resolved}",
        f"justification: {_maybe(match.justification)}",
    )
    return f"PrefixRuleMatch {{ {', '.join(fields)} }}"
