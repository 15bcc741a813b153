# The C half of `signal`, used where importing the enum-based module would cost start-up.
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

NSIG: int
SIG_BLOCK: int
SIG_UNBLOCK: int
SIG_SETMASK: int
SIG_DFL: int
SIG_IGN: int
SIGHUP: int
SIGINT: int
SIGQUIT: int
SIGKILL: int
SIGTERM: int
SIGCHLD: int
SIGCONT: int
SIGSTOP: int
SIGTSTP: int
SIGPIPE: int
SIGXCPU: int
SIGXFSZ: int
SIGWINCH: int

class struct_siginfo:
    si_signo: int
    si_code: int
    si_pid: int

def signal(signalnum: int, handler: Callable[[int, FrameType | None], Any] | int | None, /) -> Any: ...
def getsignal(signalnum: int, /) -> Any: ...
def pthread_sigmask(how: int, mask: Iterable[int], /) -> set[int]: ...
def sigwaitinfo(sigset: Iterable[int], /) -> struct_siginfo: ...
def sigtimedwait(sigset: Iterable[int], timeout: float, /) -> struct_siginfo | None: ...
def valid_signals() -> set[int]: ...
