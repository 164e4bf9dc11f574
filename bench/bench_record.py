"""What one record costs the program, and what a hooked call does."""

from __future__ import annotations

from collections.abc import Iterator

from interval import added, median
from kit import Kit
from table import Row

CALLS = ("malloc + free", "lock + unlock of a free mutex", "write of a byte to /dev/null")
BUDGETS = (6, None, None)


def columns(kit: Kit, how: str, pool_kib: int, rounds: int) -> list[list[float]]:
    """Each line of record_cost is a round."""
    out = kit.run([kit.program("record_cost"), how, str(pool_kib), str(rounds)]).out.decode()
    return [list(column) for column in zip(*([float(word) for word in line.split()] for line in out.splitlines()))]


def rows(kit: Kit) -> Iterator[Row]:
    rounds = 60 if kit.long else 25
    plain, timed, asked, clock = (median(column) for column in columns(kit, "drained", 8192, rounds))
    yield Row("a record, warm", plain, "ns", limit=4, digits=2)
    yield Row("a record with the clock, warm", timed, "ns", limit=13, digits=2)
    yield Row("the same, and whether events are wanted", asked, "ns", digits=2)
    yield Row("the clock alone", clock, "ns", digits=2)
    overrun = median(columns(kit, "overrun", 8192, rounds)[0])
    yield Row("a record when nobody drains", overrun, "ns", digits=2, note="pool of 8 MiB")

    def costs(env: dict[str, str]) -> list[float]:
        return [float(line) for line in kit.run([kit.program("hook_cost"), "--work"], env).out.split()]

    pairs = []
    for i in range(60 if kit.long else 15):
        preload = {"LD_PRELOAD": str(kit.runtime)}
        order: list[dict[str, str]] = [{}, preload] if i % 2 == 0 else [preload, {}]
        first, second = (costs(env) for env in order)
        pairs.append((first, second) if i % 2 == 0 else (second, first))
    for at, name in enumerate(CALLS):
        found = median([added(bare[at], hooked[at]) for bare, hooked in pairs])
        yield Row(f"added to {name}", found, "ns", limit=BUDGETS[at], digits=2)

    # With a session that watches memory: every call counted, one in 512 KiB recorded, with its stack if that is wanted.
    for name, more in (("memory recorded without stacks", ["--no-sample"]), ("memory recorded", [])):
        differences = []
        for i in range(30 if kit.long else 9):
            first, second = (costs({}), recorded(kit, more)) if i % 2 == 0 else (recorded(kit, more), costs({}))
            bare, watched = (first, second) if i % 2 == 0 else (second, first)
            differences.append(added(bare[0], watched[0]))
        yield Row(f"added to malloc + free, {name}", median(differences), "ns", limit=6, digits=2)


def recorded(kit: Kit, more: list[str]) -> list[float]:
    """The same calls in a traced program."""
    done = kit.traced([kit.program("hook_cost"), "--work"], "--no-report", *more)
    return [float(line) for line in done.out.split()]
