"""Whether a command is run, asked about or refused: the one place where that is decided.

Owns the order of force: what rules say, then what is known of a command (safe, dangerous), then the approval policy,
then what the person has allowed in this session. The strictest word about any part of a command counts for all of it;
an allowing rule frees from the sandbox only if every part has one. Pure: takes values, gives one.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field, replace

from pycodex.protocol.turn_context import ApprovalPolicy
from pycodex.supervisor.policy.amendments import is_banned
from pycodex.supervisor.policy.command_line import Segments
from pycodex.supervisor.policy.escalation import REQUIRE_ESCALATED, USE_DEFAULT, WITH_ADDITIONAL_PERMISSIONS
from pycodex.supervisor.policy.readings import readings
from pycodex.supervisor.policy.rules import ALLOW, FORBIDDEN, PROMPT, RuleMatch, Rules, strictest
from pycodex.supervisor.policy.safe_commands import is_dangerous, is_known_safe
from pycodex.supervisor.text.argv import shown
from pycodex.supervisor.text.visible import is_plain

NEVER, ON_FAILURE, ON_REQUEST, UNTRUSTED = "never", "on-failure", "on-request", "untrusted"

ALLOWED_BY_RULES = "rules of the user allow every part of it"
APPROVED_BY_USER = "approved by the user"
MOST_OFFERED_CHARACTERS = 4000
RETRY_REASON = "command failed; retry without sandbox?"
LEAVES_REASON = "Run it outside of the sandbox?"

TOO_LONG_REASON = "The script is too long to be checked against the rules. Run it all the same?"

WITHOUT_SANDBOX = "without sandbox"

# Who has the word about a part of a command.
BY_RULE, BY_SAFE_LIST, BY_DANGER_LIST, BY_ESCALATION, BY_POLICY = "rule", "safe", "dangerous", "escalation", "policy"
BY_LENGTH = "length"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """`unconfined_because` is empty where the sandbox of the turn holds."""

    unconfined_because: str = ""
    retries: bool = False
    """Whether a run that the sandbox stops may be repeated without it."""
    ask_first: "Ask | None" = None
    """What to ask before it is repeated; None: the person has said yes to that already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """`reason` is what the person is told besides the command; None: only what the model says."""

    reason: str | None = None
    amendment: tuple[str, ...] | None = None
    """First words of commands that the person may allow for good."""
    key: object = None
    """What the person allows if they say yes for the whole session."""
    then: Run
    """What follows from a yes."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """`text` is for the model."""

    text: str


Verdict = Run | Ask | Refuse


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is to be decided."""

    argv: Sequence[str]
    segments: Segments
    rules: Rules
    policy: ApprovalPolicy
    restricted: bool
    """Whether the turn has a sandbox at all."""
    shell: str = ""
    """The person's own, by its path."""
    unprotected: bool = False
    """Whether what should only read is not held to that on this platform."""
    asked: str = USE_DEFAULT
    """What the model asks for beyond it: its `sandbox_permissions`."""
    prefix_rule: Sequence[str] = ()
    """The first words that the model would like to be allowed for good."""
    key: object = None
    """What the person would allow for the session."""
    granted: Container[object] = field(default_factory=frozenset)
    """What the person has allowed for the session."""


@dataclass(frozen=True, slots=True)
class Word:
    """What is said about one part of a command, and by whom."""

    decision: str
    ground: str
    rule: RuleMatch | None = None
    rule_number: int | None = None
    """Its place among the rules."""


@dataclass(frozen=True, slots=True)
class Part:
    command: tuple[str, ...]
    words: tuple[Word, ...]

    @property
    def has_rule(self) -> bool:
        return any(word.rule is not None for word in self.words)


def decide(question: Question) -> Verdict:
    parts = examined(question)
    said = [word for part in parts for word in part.words]
    decision = strictest(word.decision for word in said)
    if decision == FORBIDDEN:
        return Refuse(_refusal(said, question.argv))
    if decision == PROMPT:
        return _asked(parts, said, question)
    if all(part.has_rule for part in parts):
        return Run(unconfined_because=ALLOWED_BY_RULES if question.restricted else "")
    if not question.restricted or not wants_retry(question.policy):
        return Run()
    return Run(retries=True, ask_first=_ask_to_retry(parts, question))


def examined(question: Question) -> tuple[Part, ...]:
    """Each part of the command, with what is said of it."""
    return tuple(Part(command, tuple(_words_on(command, question))) for command in question.segments.commands)


def wants_retry(policy: ApprovalPolicy) -> bool:
    """Whether what the sandbox stopped may be tried without it."""
    if isinstance(policy, dict):
        return bool(policy["granular"].get("sandbox_approval"))
    return policy in (ON_FAILURE, UNTRUSTED)


def _words_on(command: tuple[str, ...], question: Question) -> list[Word]:
    # By rule and match, so that what is met on several ways counts once.
    found = {
        (number, match): Word(match.decision, BY_RULE, match, number) for number, match in _matches(command, question)
    }
    words = list(found.values()) or [_by_itself(command, question)]
    if question.rules.restrict and not readings(command).is_read:
        words.append(Word(PROMPT, BY_LENGTH))
    return words


def _matches(command: tuple[str, ...], question: Question) -> Iterator[tuple[int, RuleMatch]]:
    for number, match in question.rules.numbered_matches(command, resolve_hosts=True):
        if match.decision != ALLOW or _is_meant(match, question):
            yield number, match
    yield from _stricter(command, question.rules)


def _stricter(command: tuple[str, ...], rules: Rules) -> Iterator[tuple[int, RuleMatch]]:
    """What rules hold against it however it is wrapped, quoted or reached."""
    for words in readings(command).all:
        for number, match in (*rules.numbered_matches(words), *rules.numbered_matches_by_name(words)):
            if match.decision != ALLOW:
                yield number, match


def _is_meant(match: RuleMatch, question: Question) -> bool:
    """A rule that allows a command says nothing of what a script does besides, such as where its output goes, nor of
    another program that only shares a name with the one that was meant, be it a command or the shell, or lies at the
    same place below another directory.
    """
    segments = question.segments
    if segments.does_more or not segments.has_shell_of_the_system(users=question.shell):
        return False
    return not question.rules.is_namesake(match) and not _is_relative(match.matched_prefix[0])


def _is_safe(command: Sequence[str], question: Question) -> bool:
    segments = question.segments
    if segments.is_complex or not segments.has_shell_of_the_system(users=question.shell):
        return False
    return is_known_safe(command, is_expanded=segments.is_expanded)


def _by_itself(command: Sequence[str], question: Question) -> Word:
    policy = question.policy
    wants_more = question.asked != USE_DEFAULT and question.restricted
    if not wants_more and _is_safe(command, question):
        return Word(ALLOW, BY_SAFE_LIST)
    if is_dangerous(command) or question.unprotected or not readings(command).is_whole:
        return Word(FORBIDDEN if policy == NEVER else PROMPT, BY_DANGER_LIST)
    if policy in (NEVER, ON_FAILURE):
        return Word(ALLOW, BY_POLICY)
    if wants_more:
        return Word(PROMPT, BY_ESCALATION)
    return Word(PROMPT if policy == UNTRUSTED else ALLOW, BY_POLICY)


def _refusal(said: Sequence[Word], argv: Sequence[str]) -> str:
    rule = _telling(said, FORBIDDEN)
    if rule is None:
        return f"`{shown(argv)}` rejected: blocked by policy"
    if rule.justification is not None:
        return f"`{shown(argv)}` rejected: {rule.justification}"
    return f"`{shown(argv)}` rejected: policy forbids commands starting with `{shown(rule.matched_prefix)}`"


def _asked(parts: Sequence[Part], said: Sequence[Word], question: Question) -> Verdict:
    rule = _telling(said, PROMPT)
    is_unread = any(word.ground == BY_LENGTH for word in said)
    if question.policy == NEVER and is_unread:
        return Refuse("the script is too long to be checked against the rules; run it in smaller parts")
    if question.policy == NEVER:
        return Refuse("approval required by policy, but AskForApproval is set to Never")
    if isinstance(question.policy, dict):
        granted = question.policy["granular"]
        if rule is not None and not granted.get("rules"):
            return Refuse("approval required by policy rule, but AskForApproval::Granular.rules is false")
        if rule is None and not granted.get("sandbox_approval"):
            return Refuse("approval required by policy, but AskForApproval::Granular.sandbox_approval is false")
    leaves = question.asked == REQUIRE_ESCALATED and question.restricted
    if leaves:
        then = Run(unconfined_because=APPROVED_BY_USER)
    elif question.restricted and wants_retry(question.policy):
        # To let it run is not to let it out: whatever it says of itself, it may have failed on purpose.
        then = Run(retries=True, ask_first=_ask_to_retry(parts, question))
    else:
        then = Run()
    if question.key in question.granted:
        return then
    reason = _reason(rule, question.argv) if rule is not None else TOO_LONG_REASON if is_unread else None
    return Ask(reason=reason, amendment=_amendment_for_prompt(parts, question), key=question.key, then=then)


def _reason(rule: RuleMatch, argv: Sequence[str]) -> str:
    if rule.justification is not None:
        return f"`{shown(argv)}` requires approval: {rule.justification}"
    return f"`{shown(argv)}` requires approval by policy"


def _telling(said: Sequence[Word], decision: str) -> RuleMatch | None:
    """The rule whose words are used: that with the longest prefix, of several the last."""
    rules = [word.rule for word in said if word.rule is not None and word.decision == decision]
    return max(reversed(rules), key=lambda rule: len(rule.matched_prefix), default=None)


def _ask_to_retry(parts: Sequence[Part], question: Question) -> Ask | None:
    """None: the person has allowed it for the session."""
    key = (question.key, WITHOUT_SANDBOX)
    if key in question.granted:
        return None
    amendment = None
    # To allow one part of several would not free the command the next time.
    if len(parts) == 1 and not parts[0].has_rule and not question.segments.is_complex:
        amendment = parts[0].command if _may_be_offered(parts[0].command, question) else None
    return Ask(reason=RETRY_REASON, amendment=amendment, key=key, then=Run(unconfined_because=APPROVED_BY_USER))


def _amendment_for_prompt(parts: Sequence[Part], question: Question) -> tuple[str, ...] | None:
    if question.asked == WITH_ADDITIONAL_PERMISSIONS:
        # A rule would let such commands out of the sandbox, which is more than is asked for.
        return None
    wanted = tuple(question.prefix_rule)
    if wanted and not any(part.has_rule for part in parts) and _would_settle(wanted, question):
        return wanted
    prompts = [(part.command, word.rule) for part in parts for word in part.words if word.decision == PROMPT]
    if question.segments.is_complex or any(rule is not None for _, rule in prompts):
        return None
    first, _ = prompts[0]
    return first if _may_be_offered(first, question) else None


def _would_settle(words: tuple[str, ...], question: Question) -> bool:
    """Whether nothing is left to be asked about the command once these words are allowed."""
    if not _may_be_offered(words, question):
        return False
    amended = replace(question, rules=question.rules.amended(words))
    return all(word.decision == ALLOW for part in examined(amended) for word in part.words)


def _may_be_offered(words: tuple[str, ...], question: Question) -> bool:
    """Only what would match, can be read, and does not hand out more than anybody means to give."""
    if is_banned(words) or question.segments.does_more or _is_relative(words[0]) or not _is_readable(words):
        return False
    return any(question.rules.amended(words).matches(command) for command in question.segments.commands)


def _is_relative(program: str) -> bool:
    """Whether the working directory, which the model chooses, has a say in what it names."""
    return "/" in program and not program.startswith("/")


def _is_readable(words: tuple[str, ...]) -> bool:
    return sum(map(len, words)) <= MOST_OFFERED_CHARACTERS and all(is_plain(word.replace("\n", "")) for word in words)
