"""Programs of other projects under `inferscope run`: they answer, exit and leave behind the same as bare."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command
    from tests.e2e.waiting import free_port, until
else:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from waiting import free_port, until

ROOT = Path(__file__).resolve().parents[2]
Count = Callable[[int, int], int]
# All that can be recorded, whatever it costs.
EVERYTHING = ["--follow", "all", "--native", "on", "--memory-sample-kb", "64", "--syscall-args", "--budget", "off"]


def need(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here; make setup, or tools/setup test integration, brings it")


def bare(command: Command, *args: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    options.setdefault("cwd", command.folder)
    options.setdefault("timeout", 60)
    if "input" not in options:
        options["stdin"] = subprocess.DEVNULL
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [str(arg) for arg in args], env=command.environment, capture_output=True, text=True, check=False, **options
    )


# ---- redis -------------------------------------------------------------------------------

CONVERSATION = """\
SET greeting hello
GET greeting
APPEND greeting " world"
STRLEN greeting
INCRBY counter 41
INCR counter
LPUSH list a b c d e
LRANGE list 0 -1
SADD set x y z x
SCARD set
ZADD sorted 3 c 1 a 2 b
ZRANGEBYSCORE sorted -inf +inf WITHSCORES
HSET hash field value other thing
HGETALL hash
SETRANGE big 1000000 end
STRLEN big
EVAL "local s = 0; for i = 1, 100000 do s = s + i end; return s" 0
INCR list
BITCOUNT greeting
OBJECT ENCODING counter
DBSIZE
"""


@contextmanager
def redis(inferscope: Command, recorded: bool, *options: str) -> Iterator[tuple[subprocess.Popen[str], int, Path]]:
    """A server, the port it listens on, and its log."""
    port = free_port()
    name = "recorded" if recorded else "bare"
    folder = inferscope.folder / name
    folder.mkdir()
    log = folder / "log"
    words = ["redis-server", "--port", str(port), "--dir", str(folder), "--logfile", str(log), "--save", "", *options]
    if recorded:
        server = inferscope.start("run", *EVERYTHING, "--", *words)
    else:
        server = subprocess.Popen(
            words, env=inferscope.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )
    try:

        def answers() -> bool:
            assert server.poll() is None, log.read_text() if log.exists() else "no log"
            return bare(inferscope, "redis-cli", "-p", str(port), "ping").stdout == "PONG\n"

        until(answers, "redis to answer")
        yield server, port, log
    finally:
        if server.poll() is None:
            server.terminate()
        server.communicate(timeout=30)


def talk(inferscope: Command, recorded: bool, requests: int) -> tuple[str, str, int]:
    """What a conversation, a benchmark and a shutdown gave."""
    with redis(inferscope, recorded, "--appendonly", "yes") as (server, port, log):
        said = bare(inferscope, "redis-cli", "-p", str(port), input=CONVERSATION).stdout
        tests = "set,get,lpush,mset"
        load = ["redis-benchmark", "-p", str(port), "-n", str(requests), "-q", "-t", tests]
        assert bare(inferscope, *load, timeout=180).stdout.count("requests per second") == 4
        # Two forks of a server under load.
        assert bare(inferscope, "redis-cli", "-p", str(port), "bgrewriteaof").returncode == 0
        until(lambda: "rewrite finished successfully" in log.read_text(), "the rewriting")
        assert bare(inferscope, "redis-cli", "-p", str(port), "bgsave").returncode == 0
        until(lambda: "Background saving terminated with success" in log.read_text(), "the saving")
        said += bare(inferscope, "redis-cli", "-p", str(port), "get", "counter").stdout
        bare(inferscope, "redis-cli", "-p", str(port), "shutdown", "nosave")
        server.wait(timeout=30)
        # Process numbers, times and rates differ between any two runs.
        lines = re.findall(r"[#*-] ([A-Z][a-z]+ [a-z]+)", log.read_text())
        return said, " ".join(sorted(set(lines))), server.returncode


def test_redis_answers_the_same_and_shuts_down(inferscope: Command, count: Count) -> None:
    need("redis-server", "redis-cli", "redis-benchmark")
    requests = count(3000, 100_000)
    expected, given = talk(inferscope, False, requests), talk(inferscope, True, requests)
    assert given == expected
    assert given[2] == 0
    report = inferscope.result(0).report
    assert report.program.exit_code == 0
    # Debian's has jemalloc, which is behind us.
    assert report.memory.allocations > requests
    assert report.memory.samples > 0
    # The server, and the two children that rewrote and saved.
    assert len(report.program.processes) >= 3
    assert (
        len([thread for thread in report.threads if thread.process_id == report.program.processes[0].process_id]) >= 4
    )


def test_a_termination_of_the_recorder_shuts_redis_down_once(inferscope: Command) -> None:
    need("redis-server", "redis-cli")
    with redis(inferscope, True) as (server, port, log):
        assert bare(inferscope, "redis-cli", "-p", str(port), "set", "a", "b").stdout == "OK\n"
        os.kill(server.pid, signal.SIGTERM)
        server.wait(timeout=30)
    text = log.read_text()
    assert text.count("Received SIGTERM scheduling shutdown") == 1
    assert text.count("Redis is now ready to exit, bye bye") == 1
    assert server.returncode == 0


# ---- sqlite3, perl -------------------------------------------------------------------------

SQL = """\
pragma journal_mode = wal;
create table words(id integer primary key, word text, hash text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000)
  insert into words select i, printf('word-%05d', i * 7919 % 30011), hex(i * i) from n;
create index by_word on words(word);
select count(*), min(word), max(word), sum(length(hash)) from words;
select a.id, b.id from words a join words b on a.word = b.word and a.id < b.id limit 3;
delete from words where id % 3 = 0;
vacuum;
pragma integrity_check;
.system echo from a child
select nothing from nowhere;
"""


def test_sqlite3_answers_the_same_and_leaves_the_same_file(inferscope: Command) -> None:
    need("sqlite3")
    said, files = [], []
    for recorded in (False, True):
        file = inferscope.folder / "x.db"
        if recorded:
            run = inferscope("run", *EVERYTHING, "--", "sqlite3", file, input=SQL)
            assert run.report.memory.allocations > 1000
            said.append((run.returncode, run.stdout, run.theirs))
        else:
            done = bare(inferscope, "sqlite3", file, input=SQL)
            said.append((done.returncode, done.stdout, done.stderr))
        files.append(hashlib.sha256(file.read_bytes()).hexdigest())
        for left in inferscope.folder.glob("x.db*"):
            left.unlink()
    assert said[1] == said[0]
    assert "from a child\n" in said[0][1]
    assert files[1] == files[0]


PERL = r"""
use strict; use warnings; use Socket; use IO::Socket::INET; use POSIX ":sys_wait_h";
$| = 1;
my %got; local $SIG{CHLD} = sub { while ((my $pid = waitpid(-1, WNOHANG)) > 0) { $got{$pid} = $? >> 8 } };
for my $i (1 .. 20) { my $pid = fork // die; exit $i if !$pid; $got{$pid} //= -1 }
my $end = time + 20; select undef, undef, undef, 0.02 while grep($_ < 0, values %got) && time < $end;
print join(" ", sort { $a <=> $b } values %got), "\n";
local $SIG{CHLD} = "DEFAULT";
system("exit 3"); print $? >> 8, "\n"; system('kill -KILL $$'); print $? & 127, "\n";
print `echo from a shell`; open my $pipe, "-|", "seq 3" or die; print <$pipe>; close $pipe; print "$?\n";
socketpair my $a, my $b, AF_UNIX, SOCK_STREAM, PF_UNSPEC or die;
if (!fork) { close $a; print $b scalar(<$b>) x 2; close $b; POSIX::_exit 0 }
close $b; print $a "twice "; $a->flush; syswrite $a, "\n"; print <$a>; wait; print "$?\n";
my $server = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1") or die;
for my $i (1 .. 5) {
    next if fork;
    my $c = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $server->sockport) or POSIX::_exit 1;
    print $c $i x 10000; close $c; POSIX::_exit 0;
}
my $sum = 0; for (1 .. 5) { my $c = $server->accept; local $/; $sum += length <$c> } print "$sum\n";
1 while wait > 0;
local $SIG{ALRM} = sub { print "alarm\n" }; alarm 1; select undef, undef, undef, 5;
eval { local $SIG{__DIE__} = sub { print "died: $_[0]" }; die "here\n" };
exec "sh", "-c", 'echo replaced; exit 9';
"""


def test_perl_with_forks_pipes_and_sockets_does_the_same(inferscope: Command) -> None:
    need("perl")
    script = inferscope.folder / "script.pl"
    script.write_text(PERL)
    expected = bare(inferscope, "perl", script)
    assert expected.returncode == 9, expected.stdout + expected.stderr
    run = inferscope("run", *EVERYTHING, "--", "perl", script)
    assert run.report.memory.allocations > 10_000
    assert (run.returncode, run.stdout, run.theirs) == (expected.returncode, expected.stdout, expected.stderr)
    # Itself and what it was replaced by, 20 + 2 + 2 + 1 + 5 children, and what those started.
    assert len(run.report.program.processes) >= 31


# ---- compilers -----------------------------------------------------------------------------

MAKEFILE = """\
objects := $(patsubst %.c,%.o,$(wildcard *.c))
all: $(objects)
%.o: %.c
\t$(CC) -std=gnu11 -O1 -g -I{root}/src -I{root}/include -D_GNU_SOURCE -DISC_VERSION='"0"' -c -o $@ $<
"""


def objects(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*.o"))
    }


def test_gcc_under_make_makes_the_same_objects(inferscope: Command) -> None:
    need("make", "gcc")
    folder = inferscope.folder / "sources"
    folder.mkdir()
    for name in ("status", "buffer", "hashmap", "clock"):
        shutil.copy(ROOT / "src" / "base" / f"{name}.c", folder)
    (folder / "Makefile").write_text(MAKEFILE.format(root=ROOT))
    made, said = [], []
    for recorded in (False, True):
        for old in folder.glob("*.o"):
            old.unlink()
        words = ["make", "-s", "-j2", "-C", str(folder)]
        if recorded:
            run = inferscope("run", "--follow", "all", "--", *words)
            said.append((run.returncode, run.stdout, run.theirs))
        else:
            done = bare(inferscope, *words)
            said.append((done.returncode, done.stdout, done.stderr))
        made.append(objects(folder))
    assert said == [(0, "", "")] * 2
    assert len(made[0]) == 4
    assert made[1] == made[0]
    programs = [Path(p.argv[0]).name for p in run.report.program.processes]
    assert programs.count("cc1") == 4
    assert programs.count("as") == 4


@pytest.mark.integration
def test_a_build_of_this_project_makes_the_same_objects(inferscope: Command) -> None:
    need("gcc", "git")
    tools = ROOT / ".venv" / "bin"
    source, build = inferscope.folder / "copy", inferscope.folder / "build"
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=True).stdout
    archives = [str(path.relative_to(ROOT)) for path in (ROOT / "subprojects" / "packagefiles").glob("*")]
    for name in [*filter(None, listed.split("\0")), *archives]:
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    setup = [str(tools / "meson"), "setup", str(build), str(source), "-Dtests=disabled", "-Dpython=disabled"]
    compile = [str(tools / "ninja"), "-C", str(build)]
    made = []
    for recorded in (False, True):
        if build.exists():
            shutil.rmtree(build)
        for words in (setup, compile):
            if recorded:
                run = inferscope("run", "--force", "--", *words, timeout=900)
                assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
            else:
                done = bare(inferscope, *words, timeout=900)
                assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        made.append(
            {**objects(build), "command": hashlib.sha256((build / "src" / "inferscope").read_bytes()).hexdigest()}
        )
    assert len(made[0]) > 40
    assert made[1] == made[0]
    assert run.report.overhead.lost == 0


# ---- a virtual machine -----------------------------------------------------------------------

JAVA = """\
import java.util.concurrent.*;
import java.util.stream.*;
public class Tiny {
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        long sum = 0;
        for (Future<Long> f : pool.invokeAll(IntStream.range(0, 50).mapToObj(i -> (Callable<Long>)
                () -> LongStream.range(0, 20000).map(x -> x * i % 7).sum()).collect(Collectors.toList())))
            sum += f.get();
        pool.shutdown();
        System.out.println(sum);
        // Null checks of the virtual machine are SIGSEGV handlers.
        int caught = 0;
        for (int i = 0; i < 20000; i++)
            try { Object o = i % 2 == 0 ? null : "x"; o.hashCode(); } catch (NullPointerException e) { caught++; }
        System.out.println(caught);
        Process p = new ProcessBuilder("sh", "-c", "echo from a child; exit 5").redirectErrorStream(true).start();
        System.out.print(new String(p.getInputStream().readAllBytes()));
        System.out.println(p.waitFor());
        byte[][] kept = new byte[64][];
        for (int i = 0; i < 192; i++) { kept[i % 64] = new byte[1 << 16]; if (i % 64 == 0) System.gc(); }
        System.exit(6);
    }
}
"""


@pytest.mark.integration
def test_a_java_program_does_the_same(inferscope: Command) -> None:
    need("java")
    commands = [["java", "-version"]]
    if shutil.which("javac"):
        (inferscope.folder / "Tiny.java").write_text(JAVA)
        assert bare(inferscope, "javac", "Tiny.java", timeout=300).returncode == 0
        commands += [["java", "-Xmx128m", "Tiny"], ["java", "-Xint", "-XX:+UseSerialGC", "Tiny"]]
    for words in commands:
        expected = bare(inferscope, *words, timeout=300)
        run = inferscope("run", *EVERYTHING, "--", *words, timeout=300)
        assert (run.returncode, run.stdout, run.theirs) == (expected.returncode, expected.stdout, expected.stderr)
        assert run.report.memory.allocations > 1000
        assert expected.returncode == (0 if "-version" in words else 6)


# ---- CPython's own tests -----------------------------------------------------------------------


@pytest.mark.integration
def test_cpythons_tests_of_processes_and_signals_pass_as_bare(inferscope: Command, python: str) -> None:
    words = ["-m", "test", "test_subprocess", "test_signal", "test_fork1", "test_posix"]
    if bare(inferscope, python, "-c", "import test.test_subprocess").returncode:
        pytest.skip(f"{python} comes without its tests")
    expected = bare(inferscope, python, *words, timeout=900)
    run = inferscope("run", "--python", python, *words, timeout=900)

    def result(text: str) -> list[str]:
        return re.findall(
            r"^(?:Tests? r|R)esult: .*|^All \d+ tests.*|^\d+ tests? (?:OK|failed|skipped).*", text, re.MULTILINE
        )

    assert result(expected.stdout), expected.stdout[-2000:]
    assert result(run.stdout) == result(expected.stdout), run.stdout[-3000:]
    assert run.returncode == expected.returncode == 0
