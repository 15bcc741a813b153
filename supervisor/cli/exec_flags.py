"""The flags and words of `pycodex exec` and its subcommands.

Owns the three grammars and the help texts. Reads nothing.
"""

from pycodex.protocol.permissions import DANGER_FULL_ACCESS, READ_ONLY, WORKSPACE_WRITE
from pycodex.supervisor.cli.grammar import Grammar
from pycodex.supervisor.cli.options import GLOBAL_FLAGS, VERSION, Flag

IMAGE = Flag("-i", "--image", value="FILE", greedy=True)
IMAGE_OF_RESUME = Flag("-i", "--image", value="FILE", many=True)
MODEL = Flag("-m", "--model", value="MODEL")
OSS = Flag("--oss")
LOCAL_PROVIDER = Flag("--local-provider", value="OSS_PROVIDER")
SANDBOX = Flag("-s", "--sandbox", value="SANDBOX_MODE", choices=(READ_ONLY, WORKSPACE_WRITE, DANGER_FULL_ACCESS))
PROFILE = Flag("-p", "--profile", value="CONFIG_PROFILE")
FULL_AUTO = Flag("--full-auto")
BYPASS = Flag("--yolo", "--dangerously-bypass-approvals-and-sandbox")
CD = Flag("-C", "--cd", value="DIR")
SKIP_GIT_REPO_CHECK = Flag("--skip-git-repo-check")
ADD_DIR = Flag("--add-dir", value="DIR", many=True)
EPHEMERAL = Flag("--ephemeral")
OUTPUT_SCHEMA = Flag("--output-schema", value="FILE")
OUTPUT_SCHEMA_OF_RESUME = Flag("--output-schema", value="FILE", hidden=True)
COLOR = Flag("--color", value="COLOR", choices=("always", "never", "auto"))
PROGRESS_CURSOR = Flag("--progress-cursor")
JSON = Flag("--experimental-json", "--json")
LAST_MESSAGE = Flag("-o", "--output-last-message", value="FILE")
LAST = Flag("--last")
ALL = Flag("--all")
UNCOMMITTED = Flag("--uncommitted")
BASE = Flag("--base", value="BRANCH")
COMMIT = Flag("--commit", value="SHA")
TITLE = Flag("--title", value="TITLE")

# Older and newer releases of the reference know these. Approvals are never asked for here, so there is nothing for the
# first one to change; the others name what is not done anyway.
_APPROVALS = ("untrusted", "on-failure", "on-request", "never")
APPROVAL = Flag(
    "-a", "--approval-policy", "--ask-for-approval", value="APPROVAL_POLICY", choices=_APPROVALS, hidden=True
)
_TOLERATED = (
    APPROVAL,
    Flag("--strict-config", hidden=True),
    Flag("--ignore-user-config", hidden=True),
    Flag("--ignore-rules", hidden=True),
    Flag("--thread-source", value="SOURCE", hidden=True),
    Flag("--cyber-access-program", value="PROGRAM", hidden=True),
)

_EVERYWHERE = (
    *(MODEL, FULL_AUTO, BYPASS, SKIP_GIT_REPO_CHECK, EPHEMERAL, JSON, LAST_MESSAGE),
    *GLOBAL_FLAGS,
    *_TOLERATED,
)
_EXCLUSIVE = (FULL_AUTO.key, BYPASS.key)

RESUME = Grammar(
    "pycodex exec resume",
    (LAST, ALL, IMAGE_OF_RESUME, OUTPUT_SCHEMA_OF_RESUME, *_EVERYWHERE),
    ("SESSION_ID", "PROMPT"),
)
RESUME.exclusive = (_EXCLUSIVE,)

REVIEW = Grammar("pycodex exec review", (UNCOMMITTED, BASE, COMMIT, TITLE, *_EVERYWHERE), ("PROMPT",))
REVIEW_TARGETS = (UNCOMMITTED.key, BASE.key, COMMIT.key, "PROMPT")
REVIEW.exclusive = (_EXCLUSIVE, REVIEW_TARGETS)
REVIEW.needs = {TITLE.key: COMMIT.key}

EXEC = Grammar(
    "pycodex exec",
    (
        *(IMAGE, OSS, LOCAL_PROVIDER, SANDBOX, PROFILE, CD, ADD_DIR, OUTPUT_SCHEMA, COLOR, PROGRESS_CURSOR, VERSION),
        *_EVERYWHERE,
    ),
    ("PROMPT",),
)
EXEC.exclusive = (_EXCLUSIVE,)
EXEC.commands = {"resume": RESUME.flags, "review": REVIEW.flags, "help": ()}

GLOBAL_OPTIONS = """\
  -c, --config <key=value>         Set one configuration value, on top of config.toml; the value is TOML or plain text
      --enable <FEATURE>           The same as -c features.FEATURE=true
      --disable <FEATURE>          The same as -c features.FEATURE=false"""

_SHARED_HELP = f"""\
  -m, --model <MODEL>              The model to ask
      --full-auto                  Let commands write in the workspace (the same as -s workspace-write)
      --dangerously-bypass-approvals-and-sandbox
                                   Run commands without any sandbox [alias: --yolo]; only where the whole machine may
                                   be lost
      --skip-git-repo-check        Work outside of a git repository, too
      --ephemeral                  Keep no session file
      --json                       Print events as JSON lines on stdout, and nothing else there
  -o, --output-last-message <FILE> Write the last message of the agent to FILE
{GLOBAL_OPTIONS}
  -h, --help                       Show this text"""

EXEC_HELP = f"""\
Give the agent one task and wait until it is done

Usage: {EXEC.usage}

Commands:
  resume  Go on with an earlier session
  review  Review changes of the repository
  help    Show this text, or that of a command

Arguments:
  [PROMPT]  The task. Without it, or when it is `-`, the task is read from stdin

Options:
  -i, --image <FILE>...            Show pictures to the model, before the task; takes every word up to the next flag, so
                                   put `--` before a task that follows
  -s, --sandbox <SANDBOX_MODE>     What commands may do: read-only, workspace-write or danger-full-access
  -C, --cd <DIR>                   Work in DIR
      --add-dir <DIR>              Let commands write in DIR, too
  -p, --profile <CONFIG_PROFILE>   Use a profile of config.toml
      --oss                        Ask a model that runs on this machine
      --local-provider <NAME>      Which program serves it: lmstudio or ollama
      --output-schema <FILE>       Make the last message fit the JSON Schema in FILE
      --color <COLOR>              Colours on stderr: always, never or auto [default: auto]
      --progress-cursor            Accepted; progress is shown whenever stderr is a terminal
{_SHARED_HELP}
  -V, --version                    Show the version

The answer goes to stdout, what happens on the way to stderr.

Exit code: 0 if the turn was completed, 1 if it failed or was interrupted, 2 for wrong arguments."""

RESUME_HELP = f"""\
Go on with an earlier session

Usage: {RESUME.usage}

Arguments:
  [SESSION_ID]  The session's id or name; with --last it is left out
  [PROMPT]      The next task. Without it, or when it is `-`, the task is read from stdin

Options:
      --last                       Take the newest session of this directory
      --all                        With --last: of any directory
  -i, --image <FILE>               Show a picture to the model, before the task
{_SHARED_HELP}

A session that cannot be found is not an error: a new one is started."""

REVIEW_ARGUMENTS = """\
  [PROMPT]  What to look at, in your own words; read from stdin when it is `-`"""

REVIEW_OPTIONS = """\
      --uncommitted                What is staged, unstaged and untracked
      --base <BRANCH>              What would be merged into BRANCH
      --commit <SHA>               What one commit changed
      --title <TITLE>              With --commit: the title to show for it"""

REVIEW_HELP = f"""\
Review changes of the repository

Usage: {REVIEW.usage}

Arguments:
{REVIEW_ARGUMENTS}

Options:
{REVIEW_OPTIONS}
{_SHARED_HELP}

The review is told on stderr; with --json it is the last message, with -o it is written to FILE, too. `review_model` in
config.toml names the model of the reviewer.

Exit code: 0 if the review was completed, 1 if it failed or was interrupted, 2 for wrong arguments."""
