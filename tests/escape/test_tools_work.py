"""What people run every day works in the workspace with the network off."""

import shutil
import sys
import textwrap
from pathlib import Path

import pytest

from support.escape.attack import confined, finish, start
from support.escape.command import Command
from support.escape.world import READ_ONLY, WORKSPACE_WRITE, Mode, World

PATH = "/root/.cargo/bin:/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin"
READERS = {
    "git status": "git status --short && git diff --stat && git log --oneline | grep first",
    "ps": "ps -e | grep -q ps && ps aux > /dev/null",
    "grep": "grep -r tracked . | sort | grep -q tracked.txt",
    "find": "find / -maxdepth 1 > /dev/null && find . -name tracked.txt | grep -q tracked",
    "process substitution": "diff <(echo same) <(echo same) && cat <(echo x) | grep -q x",
    "null and urandom": "head -c 4 /dev/urandom > /dev/null && head -c 2 /dev/zero | wc -c | grep -q 2",
    "background jobs": "sleep 0.05 & wait $!; (exit 3) & wait $!; test $? = 3",
    "users": "id -u && whoami && test -d ~",
    "proc": "cat /proc/1/status /proc/self/status /proc/meminfo /proc/cpuinfo /proc/mounts > /dev/null",
    "limits": "ulimit -n && test $(nproc) -ge 1",
}
WRITERS = {
    "temporary files": "f=$(mktemp) && echo x > $f && rm $f && d=$(mktemp -d) && rmdir $d && mktemp -p . > /dev/null",
    "sort with spill": "seq 100000 | sort -R -S 64k | sort -n -S 64k | tail -1 | grep -qx 100000",
    "flock": "flock lockfile -c 'echo locked' && flock -n lockfile true",
    "here document": "cat <<< text > copy && grep -q text copy",
    "rename and link": "echo x > a && mv a b && ln b c && ln -s c d && mkdir -p f/g && mv f h && rm -r b c d h",
    "modes and times": "touch a && chmod 755 a && touch -d 2001-01-01 a && test -x a",
    "sed in place": "echo x > a && sed -i s/x/y/ a && grep -q y a",
    "tar": "tar cf t.tar tracked.txt && mkdir u && tar xf t.tar -C u && cmp tracked.txt u/tracked.txt",
    "fifo": "mkfifo p && (echo through > p &) && grep -q through p",
    "shared memory": "echo x > /dev/shm/probe && rm /dev/shm/probe",
    "git apply": "echo more >> tracked.txt && git diff > x.patch && git apply -R x.patch && git diff --quiet",
    "parallel make": "printf 'all: a b c\\na b c:\\n\\ttouch $@\\n' > Makefile && make -j4 && test -e c",
    "c compiler": "echo 'int main(void){return 0;}' > m.c && gcc -o m m.c && ./m",
    "sqlite": "sqlite3 x.db 'pragma journal_mode=wal; create table t(a)' && sqlite3 x.db 'select 7' | grep -qx 7",
    "node": "node -e \"require('child_process').execSync('true'); setTimeout(() => {}, 5)\"",
    "script": "script -qec 'echo on a terminal; tty' typescript | grep -q /dev/pts",
    "job control": "script -qec 'bash -ic \"set -m; sleep 0.1 & jobs; wait\"' /dev/null",
    "cargo": "cargo init -q --vcs none --name demo c && cd c && cargo build -q --offline && target/debug/demo",
    "go": "echo module demo > go.mod && printf 'package main\\nfunc main(){}' > main.go && go run .",
    "perl": 'perl -e \'open(F, ">p"); print F 1; close F; exit(-s "p" == 1 ? 0 : 1)\'',
    "xargs": "seq 8 | xargs -P4 -n1 touch && test -e 8",
    "rsync": "rsync -a sub/ copy/ && test -e copy/also.txt",
    "tee and pipes": "head -c 300000 /dev/zero | tee big | wc -c | grep -qx 300000",
}
NEEDS = {
    "parallel make": "make", "c compiler": "gcc", "sqlite": "sqlite3", "node": "node", "script": "script",
    "job control": "script", "cargo": "cargo", "go": "go", "perl": "perl", "rsync": "rsync", "ps": "ps",
    "flock": "flock",
}  # fmt: skip
PROGRAMS = {
    "asyncio": """
        import asyncio
        async def main():
            process = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
            assert (await process.communicate(b"x"))[0] == b"x"
            assert await asyncio.to_thread(lambda: 7) == 7
            assert await asyncio.get_running_loop().run_in_executor(None, sum, [1, 2]) == 3
        asyncio.run(main())
        """,
    "trio": """
        import trio
        async def main():
            done = await trio.run_process(["cat"], stdin=b"x", capture_stdout=True)
            assert done.stdout == b"x"
            assert await trio.to_thread.run_sync(lambda: 7) == 7
        trio.run(main)
        """,
    "process pools": """
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor
        if __name__ == "__main__":
            for method in ("fork", "spawn"):
                with multiprocessing.get_context(method).Pool(2) as pool:
                    assert pool.map(abs, [-1, -2]) == [1, 2]
            with ProcessPoolExecutor(2) as pool:
                assert list(pool.map(abs, [-3])) == [3]
            queue = multiprocessing.Queue()
            queue.put(5)
            assert queue.get() == 5
            lock, value = multiprocessing.Lock(), multiprocessing.Value("i", 1)
            with lock:
                value.value += 1
        """,
    "shared memory": """
        from multiprocessing import shared_memory
        segment = shared_memory.SharedMemory(create=True, size=64)
        segment.close(); segment.unlink()
        """,
    "threads and signals": """
        import signal, subprocess, threading, os
        seen = []
        signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
        os.kill(os.getpid(), signal.SIGUSR1)
        assert seen
        threads = [threading.Thread(target=subprocess.run, args=(["true"],)) for _ in range(8)]
        [thread.start() for thread in threads]; [thread.join() for thread in threads]
        """,
    "watching files": """
        import ctypes, os
        assert ctypes.CDLL(None).inotify_init() >= 0
        """,
    "temporary files": """
        import tempfile
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as file:
            file.write(b"x"); open(folder + "/x", "w").close()
        tempfile.NamedTemporaryFile().close()
        """,
    "sqlite": """
        import sqlite3
        with sqlite3.connect("x.db") as database:
            database.execute("create table t(a)")
        """,
    "virtual environment": """
        import subprocess, sys
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", "env"], check=True)
        subprocess.run(["env/bin/python", "-c", ""], check=True)
        """,
    "local pair": """
        import select, socket
        ours, other = socket.socketpair()
        other.sendall(b"x"); select.select([ours], [], [], 5)
        assert ours.recv(1) == b"x"
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096); ours.shutdown(socket.SHUT_WR); ours.getsockname()
        """,
}


def ends_well(world: World, mode: Mode, argv: list[str]) -> None:
    command = confined(world, mode, argv)
    process = start(world, Command(command.argv, command.env | {"PATH": PATH, "HOME": str(Path.home())}))
    out, err = finish(process)
    assert process.returncode == 0, (out.decode(errors="replace")[-2000:], err.decode(errors="replace")[-2000:])
    assert world.survivors() == set()


def need(name: str) -> None:
    if name in NEEDS and shutil.which(NEEDS[name], path=PATH) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")


@pytest.mark.parametrize("mode", [READ_ONLY, WORKSPACE_WRITE], ids=str)
@pytest.mark.parametrize("name", READERS)
def test_reading_tool(world: World, name: str, mode: Mode) -> None:
    need(name)
    ends_well(world, mode, ["/bin/bash", "-c", READERS[name]])


@pytest.mark.parametrize("name", WRITERS)
def test_writing_tool(world: World, name: str) -> None:
    need(name)
    ends_well(world, WORKSPACE_WRITE, ["/bin/bash", "-c", f"set -o pipefail\n{WRITERS[name]}"])


@pytest.mark.parametrize("name", PROGRAMS)
def test_python(world: World, name: str) -> None:
    (world.ws / "program.py").write_text(textwrap.dedent(PROGRAMS[name]), encoding="ascii")
    ends_well(world, WORKSPACE_WRITE, [sys.executable, "program.py"])


@pytest.mark.parametrize("options", [[], ["-n", "2"]], ids=["alone", "with workers"])
def test_pytest(world: World, options: list[str]) -> None:
    (world.ws / "test_sample.py").write_text("def test_a(tmp_path):\n    (tmp_path / 'x').touch()\n", encoding="ascii")
    ends_well(world, WORKSPACE_WRITE, [sys.executable, "-m", "pytest", "-q", *options, "test_sample.py"])
