"""`pycodex exec`: one task from the command line, done without asking anybody.

Owns how argv becomes an ExecRequest: which flags are inherited from where, and how a subcommand's flags join those
before it. The work itself is `frontends.exec.run`; it is loaded only when there is something to do.
"""

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.cli import exec_flags as flags
from pycodex.supervisor.cli.grammar import Parsed, parse
from pycodex.supervisor.cli.options import Flag, bad_usage, no_value, overrides_of
from pycodex.supervisor.cli.root_flags import RootFlags
from pycodex.supervisor.cli.terminal import say
from pycodex.supervisor.frontends.exec.request import ExecRequest, ResumeTarget, ReviewScope
from pycodex.supervisor.version import VERSION

_HELP = {"resume": flags.RESUME_HELP, "review": flags.REVIEW_HELP, "help": flags.EXEC_HELP}
_GRAMMARS = {"resume": flags.RESUME, "review": flags.REVIEW}


def run(argv: list[str], overrides: list[str], root: RootFlags | None = None) -> int:
    """The subcommand after its own word. Returns the exit code."""
    asked = read_request(argv, overrides, root or RootFlags())
    if isinstance(asked, str):
        say(asked)
        return 0
    from pycodex.supervisor.frontends.exec.run import run_exec

    return run_exec(asked)


def read_request(argv: list[str], overrides: list[str], root: RootFlags) -> ExecRequest | str:
    """What is to be done, or a text that was asked for."""
    outer = parse(argv, flags.EXEC)
    if outer.flags.wants_help:
        return flags.EXEC_HELP
    if outer.flags.wants_version:
        return f"codex-cli-exec {VERSION}"
    if outer.command is None:
        given = _Given([outer], overrides, root)
        return given.request(prompt=_word(outer, 0))
    if outer.command == "help":
        return _help_of(outer.rest)
    inner = parse(outer.rest, _GRAMMARS[outer.command])
    if inner.flags.wants_help:
        return _HELP[outer.command]
    given = _Given([outer, inner], overrides, root)
    if outer.command == "review":
        return given.request(prompt=_word(inner, 0), review=_review_scope(inner))
    target, prompt = _resumed(inner)
    return given.request(prompt=_word(outer, 0) if prompt is None else prompt, resume=target)


def _help_of(words: list[str]) -> str:
    if not words:
        return flags.EXEC_HELP
    if words[0] not in _HELP:
        raise bad_usage(f"unrecognized subcommand '{words[0]}'", usage=flags.EXEC.usage)
    if len(words) > 1 and words[0] in _GRAMMARS:
        raise bad_usage(f"unrecognized subcommand '{words[1]}'", usage=_GRAMMARS[words[0]].usage)
    return _HELP[words[0]]


def _word(parsed: Parsed, index: int) -> str | None:
    return parsed.words[index] if index < len(parsed.words) else None


def _resumed(inner: Parsed) -> tuple[ResumeTarget, str | None]:
    """The target and the prompt. With --last a single word is the prompt, and of two the first says nothing."""
    last = inner.flags.has(flags.LAST.key)
    session_id, prompt = _word(inner, 0), _word(inner, 1)
    if last:
        session_id, prompt = None, session_id if prompt is None else prompt
    return ResumeTarget(session_id=session_id, last=last, all=inner.flags.has(flags.ALL.key)), prompt


def _review_scope(inner: Parsed) -> ReviewScope:
    """Raises UserFacing if nothing is to be reviewed."""
    prompt, given = _word(inner, 0), inner.flags
    if prompt is not None and not prompt.strip():
        raise UserFacing("Review prompt cannot be empty")
    if prompt is None and not any(given.has(flag.key) for flag in (flags.UNCOMMITTED, flags.BASE, flags.COMMIT)):
        raise UserFacing("Specify --uncommitted, --base, --commit, or provide custom review instructions")
    return ReviewScope(
        uncommitted=given.has(flags.UNCOMMITTED.key),
        base=given.last(flags.BASE.key),
        commit=given.last(flags.COMMIT.key),
        title=given.last(flags.TITLE.key),
    )


class _Given:
    """The flags of all levels; where one may be given once, the innermost level decides."""

    def __init__(self, levels: list[Parsed], overrides: list[str], root: RootFlags) -> None:
        self._scans = [level.flags for level in levels]
        self._overrides = overrides
        self._root = root

    def _has(self, flag: Flag) -> bool:
        return any(scanned.has(flag.key) for scanned in self._scans)

    def _last(self, flag: Flag) -> str | None:
        found = [value for scanned in self._scans for value in scanned.all(flag.key)]
        return found[-1] if found else None

    def _all(self, flag: Flag) -> tuple[str, ...]:
        return tuple(value for scanned in self._scans for value in scanned.all(flag.key))

    def request(
        self, *, prompt: str | None, resume: ResumeTarget | None = None, review: ReviewScope | None = None
    ) -> ExecRequest:
        full_auto, bypass, model = self._has(flags.FULL_AUTO), self._has(flags.BYPASS), self._last(flags.MODEL)
        return ExecRequest(
            prompt=prompt,
            images=self._images(),
            model=self._root.model if model is None else model,
            oss=self._has(flags.OSS),
            local_provider=self._last(flags.LOCAL_PROVIDER),
            profile=self._last(flags.PROFILE),
            sandbox_mode=self._last(flags.SANDBOX),
            full_auto=full_auto or self._root.full_auto,
            bypass=bypass or self._root.bypass,
            cd=self._last(flags.CD),
            add_dirs=self._all(flags.ADD_DIR),
            skip_git_repo_check=self._has(flags.SKIP_GIT_REPO_CHECK),
            ephemeral=self._has(flags.EPHEMERAL),
            output_schema=self._last(flags.OUTPUT_SCHEMA),
            color=self._last(flags.COLOR) or "auto",
            json=self._has(flags.JSON),
            last_message_file=self._last(flags.LAST_MESSAGE),
            resume=resume,
            review=review,
            overrides=self._all_overrides(),
        )

    def _images(self) -> tuple[str, ...]:
        images = tuple(path for value in self._all(flags.IMAGE) for path in value.split(","))
        if "" in images:
            raise no_value(flags.IMAGE)
        return images

    def _all_overrides(self) -> tuple[str, ...]:
        approval = self._last(flags.APPROVAL)
        found = [*self._overrides, *(text for scanned in self._scans for text in overrides_of(scanned))]
        return (*found, f'approval_policy="{approval}"') if approval else tuple(found)
