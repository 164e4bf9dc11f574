"""Small programs, each with calls of one shape; the counts of all of them are known from Python's own profilers."""

from __future__ import annotations

# One thread each, so that cProfile sees everything.
ALONE = {
    "recursion": """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
fib(15)
""",
    "mutual_recursion": """
def even(n): return n == 0 or odd(n - 1)
def odd(n): return n != 0 and even(n - 1)
for i in range(50): even(i)
""",
    "methods": """
class A:
    def __init__(self, x): self.x = x
    def get(self): return self.x
    @property
    def p(self): return self.get()
    @staticmethod
    def s(y): return y
    @classmethod
    def c(cls): return cls(1)
for i in range(100):
    a = A(i); a.get(); a.p; A.s(1); A.c()
""",
    "special_methods": """
class A:
    def __getitem__(self, i): return i
    def __len__(self): return 3
    def __eq__(self, o): return True
    def __hash__(self): return 1
    def __add__(self, o): return self
    def __call__(self): return 1
    def __contains__(self, x): return True
    def __getattr__(self, n): return n
    def __bool__(self): return True
    def __str__(self): return 'a'
    def __lt__(self, o): return False
a = A()
for i in range(500):
    a[i]; len(a); a == a; a + a; a(); 1 in a; a.zzz; str(a); sorted([a, a]); {a: 1}[a]
    if a: pass
""",
    "descriptors": """
class D:
    def __get__(self, o, t): return 1
    def __set__(self, o, v): pass
    def __set_name__(self, o, n): pass
class A:
    d = D()
a = A()
for i in range(200): a.d; a.d = 2
""",
    "generators": """
def g(n):
    for i in range(n): yield i
for i in range(20): list(g(i)); sum(g(i))
""",
    "yield_from": """
def inner(n):
    x = yield n
    return x
def outer():
    for i in range(10):
        yield from inner(i)
        yield from (j for j in range(3))
list(outer())
""",
    "send": """
def g():
    total = 0
    while True:
        got = yield total
        total += got
x = g(); next(x)
for i in range(30): x.send(i)
x.close()
""",
    "throw": """
def g():
    while True:
        try: yield 1
        except ValueError: yield 2
for i in range(10):
    x = g(); next(x); x.throw(ValueError); next(x); x.close()
y = g()
try: y.throw(KeyError)
except KeyError: pass
""",
    "throw_through_delegation": """
def inner():
    try: yield 1
    except ValueError: yield 2
    yield 3
def middle(): yield from inner()
def outer(): yield from middle()
for i in range(10):
    x = outer(); next(x); x.throw(ValueError); next(x)
    try: next(x)
    except StopIteration: pass
    z = outer(); next(z); z.close()
""",
    "abandoned_generators": """
def g():
    try:
        yield 1
        yield 2
    finally:
        clean()
def clean(): pass
for i in range(10):
    x = g(); next(x); del x
    y = g(); del y
""",
    "generator_raises": """
def g():
    yield 1
    raise KeyError
def h():
    yield from g()
for i in range(5):
    try: list(h())
    except KeyError: pass
def stop():
    raise StopIteration
    yield
try: list(stop())
except RuntimeError: pass
""",
    "generator_expressions": """
for i in range(10):
    sum(x * x for x in range(i)); any(x > 3 for x in range(10)); list(zip((a for a in 'abc'), (b for b in 'xy')))
""",
    "comprehensions": """
def f(x): return x
for i in range(10):
    [f(x) for x in range(i)]; {f(x) for x in range(i)}; {f(x): x for x in range(i)}
    [[f(y) for y in range(3)] for x in range(3)]
class A:
    b = [x for x in range(3)]
""",
    "lambdas": """
add = lambda a, b: a + b
for i in range(50): add(i, i)
list(map(lambda x: x + 1, range(20))); sorted(range(20), key=lambda x: -x); list(filter(lambda x: x % 2, range(9)))
""",
    "closures": """
def make(n):
    def inner(x):
        nonlocal n
        n += x
        return n
    return inner
for i in range(10):
    f = make(i)
    for j in range(5): f(j)
""",
    "decorators": """
import functools
def twice(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        f(*args, **kwargs)
        return f(*args, **kwargs)
    return wrapper
@twice
@twice
def work(x, y=1): return x + y
for i in range(10): work(i, y=2)
""",
    "caches": """
import functools
@functools.lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
fib(60)
class A:
    @functools.cached_property
    def p(self): return 1
    @functools.singledispatchmethod
    def m(self, x): return 0
    @m.register
    def _(self, x: int): return 1
a = A()
for i in range(5): a.p; a.m('x'); a.m(1)
""",
    "arguments": """
def f(a, b=2, *c, d, e=5, **g): return a
for i in range(20):
    f(1, d=1); f(1, 2, 3, 4, d=3, z=1); f(*[1, 2], **{'d': 4})
try: f()
except TypeError: pass
""",
    "partials": """
import functools
def f(a, b, c=0): return a + b + c
p = functools.partial(f, 1); q = functools.partial(p, c=3)
for i in range(20): p(2); q(4)
class A:
    def m(self, x): return x
    n = functools.partialmethod(m, 1)
for i in range(10): A().n()
""",
    "exceptions": """
def deep(n):
    if n == 0: raise ValueError(n)
    try: deep(n - 1)
    finally: note()
def note(): pass
for i in range(10):
    try: deep(i)
    except ValueError: pass
""",
    "exceptions_changed": """
class Mine(Exception):
    def __init__(self, x): super().__init__(x)
def a(): raise KeyError('a')
def b():
    try: a()
    except KeyError as e: raise Mine(1) from e
def c():
    try: b()
    except Mine: return 1
    else: return 2
    finally: d()
def d(): pass
for i in range(20): c()
""",
    "context_managers": """
import contextlib
class M:
    def __enter__(self): return self
    def __exit__(self, *a): return True
@contextlib.contextmanager
def cm():
    try: yield 1
    except KeyError: pass
for i in range(10):
    with M(): raise ValueError
    with cm(): raise KeyError
    with cm(), M(): pass
    with contextlib.ExitStack() as s:
        s.enter_context(cm()); s.callback(lambda: None)
""",
    "classes": """
def base(): return object
class Meta(type):
    def __new__(m, n, b, d, **k): return super().__new__(m, n, b, d)
    def __init__(c, n, b, d, **k): pass
    def __call__(c, *a): return super().__call__(*a)
    @classmethod
    def __prepare__(m, n, b, **k): return {}
for i in range(5):
    class A(base(), metaclass=Meta, x=1):
        def __init_subclass__(cls, **k): pass
        def m(self): return 1
    class B(A):
        def m(self): return super().m()
    B().m()
""",
    "new_and_slots": """
class P:
    __slots__ = ('x', 'y')
    def __new__(cls, x, y):
        self = super().__new__(cls); self.x, self.y = x, y
        return self
class Q(P):
    def __init__(self, x, y): pass
for i in range(50): P(i, i); Q(i, i)
""",
    "dataclasses": """
import dataclasses
@dataclasses.dataclass(order=True)
class D:
    a: int
    b: int = dataclasses.field(default_factory=lambda: 2)
    def __post_init__(self): self.c = self.a
for i in range(20): D(i) == D(i); D(1) < D(2)
""",
    "exec_and_eval": """
text = compile("def f(x):\\n    return x + 1\\nfor i in range(5): f(i)\\n", __file__, 'exec')
for i in range(5): exec(text, {})
for i in range(5): eval(compile('(lambda: 1)()', __file__, 'eval'))
""",
    "code_that_dies": """
import gc
for i in range(300):
    names = {}
    exec(compile('def f(x): return x\\n' * 1 + '\\n' * i + 'def g(): return f(1)\\n', __file__, 'exec'), names)
    names['g'](); names['f'](2)
    del names
    if i % 50 == 0: gc.collect()
""",
    "callbacks_from_c": """
import functools, re, itertools, bisect, operator
def key(x): return -x
def sub(m): return m.group(0) * 2
def red(a, b): return a + b
sorted(range(50), key=key); max(range(20), key=key); re.sub('a', sub, 'banana')
functools.reduce(red, range(30)); list(itertools.accumulate(range(10), red)); list(map(key, range(10)))
list(itertools.takewhile(lambda x: x < 5, range(10)))
""",
    "iterators": """
class I:
    def __init__(self): self.n = 0
    def __iter__(self): return self
    def __next__(self):
        self.n += 1
        if self.n > 10: raise StopIteration
        return self.n
for i in range(10): list(I()); sum(x for x in I())
a, *b = I()
list(iter(lambda: 0, 0)); dict(zip(I(), I()))
""",
    "destructors": """
class A:
    def __del__(self): gone()
def gone(): pass
for i in range(20):
    a = A(); del a
    [A(), A()]
""",
    "weakrefs": """
import weakref, gc
class A: pass
def gone(r): pass
for i in range(20):
    a = A(); r = weakref.ref(a, gone); weakref.finalize(a, lambda: None); del a
class C: pass
c = C(); c.self = c; r = weakref.ref(c, gone); del c; gc.collect()
""",
    "coroutines": """
async def leaf(n): return n
async def middle(n): return await leaf(n) + await leaf(n + 1)
def run(c):
    try: c.send(None)
    except StopIteration as e: return e.value
for i in range(20): run(middle(i))
c = leaf(1); c.close()
""",
    "awaitables": """
import types
class W:
    def __await__(self):
        x = yield 1
        return x
@types.coroutine
def old(): yield 2
async def f():
    await W()
    await old()
    try: await W()
    except KeyError: return 1
for i in range(10):
    c = f(); c.send(None); c.send(1); c.send(2)
    try: c.throw(KeyError)
    except StopIteration: pass
""",
    "async_generators": """
async def ag(n):
    try:
        for i in range(n): yield i
    finally: done()
def done(): pass
async def use():
    async for x in ag(5): pass
    [x async for x in ag(3)]
    a = ag(4)
    await a.__anext__(); await a.asend(None)
    try: await a.athrow(ValueError)
    except ValueError: pass
    b = ag(4); await b.__anext__(); await b.aclose()
def run(c):
    try:
        while True: c.send(None)
    except StopIteration: pass
for i in range(5): run(use())
""",
    "async_context": """
import contextlib
class M:
    async def __aenter__(self): return 1
    async def __aexit__(self, *a): return True
@contextlib.asynccontextmanager
async def cm():
    yield 1
async def f():
    async with M(): raise ValueError
    async with cm(): pass
def run(c):
    try: c.send(None)
    except StopIteration: pass
for i in range(10): run(f())
""",
    "asyncio_tasks": """
import asyncio
async def leaf(n):
    await asyncio.sleep(0)
    return n
async def branch(n):
    return sum(await asyncio.gather(*(leaf(i) for i in range(n))))
async def main():
    await asyncio.gather(branch(3), branch(4))
    t = asyncio.ensure_future(leaf(1)); await t
    try: await asyncio.wait_for(asyncio.sleep(10), 0.01)
    except asyncio.TimeoutError: pass
    t = asyncio.ensure_future(asyncio.sleep(100)); await asyncio.sleep(0); t.cancel()
    try: await t
    except asyncio.CancelledError: pass
asyncio.run(main())
""",
    "deep_recursion": """
import sys
sys.setrecursionlimit(6000)
def down(n): return 0 if n == 0 else 1 + down(n - 1)
down(4000); down(900)
""",
    "sys_exit": """
import sys
def f():
    try: sys.exit(3)
    finally: g()
def g(): pass
f()
""",
    "named_tuples_and_enums": """
import collections, enum
P = collections.namedtuple('P', 'x y')
class C(enum.Enum):
    A = 1
    B = 2
    @property
    def twice(self): return self.value * 2
class F(enum.Flag):
    X = 1
    Y = 2
for i in range(10): P(1, i)._replace(x=2); C.A.twice; C(2); F.X | F.Y
""",
    "long_loops_of_items": """
class V:
    def __getitem__(self, i): return i * 2
    def __iter__(self): return (self[i] for i in range(100))
v = V()
total = 0
for k in range(100):
    for i in range(100): total += v[i]
for x in v: total += x
""",
    "match_and_walrus": """
def f(x): return x
if (n := f(3)) > 2: f(n)
while (n := f(n - 1)) > 0: pass
print(f"{f(1)} {f('x')!r:>{f(5)}}")
assert f(True), f('no')
x = f(1) if f(0) else f(2)
f(1) and f(0) or f(3)
""",
    "imports": """
import json, string, textwrap, colorsys
json.loads(json.dumps({'a': [1, 2, {'b': 3}]}, indent=2)); textwrap.wrap('a b c ' * 20); colorsys.rgb_to_hls(1, 0, 1)
def f(): return json.JSONEncoder(default=str).encode([1, f])
f()
""",
}

# Several threads: sys.setprofile in each of them is the measure.
THREADS = {
    "threads": """
import threading
def work(n):
    for i in range(n): leaf(i)
def leaf(i): return i
ts = [threading.Thread(target=work, args=(100 * k,)) for k in range(8)]
for t in ts: t.start()
for t in ts: t.join()
""",
    "thread_pool": """
from concurrent.futures import ThreadPoolExecutor
def work(n): return sum(leaf(i) for i in range(n))
def leaf(i): return i
with ThreadPoolExecutor(4) as pool: list(pool.map(work, range(40)))
""",
    "small_stacks": """
import threading
threading.stack_size(64 * 1024)
def down(n): return 0 if n == 0 else down(n - 1)
ts = [threading.Thread(target=down, args=(30,)) for k in range(4)]
for t in ts: t.start()
for t in ts: t.join()
""",
    "generators_across_threads": """
import threading
def g():
    for i in range(100): yield i
x = g()
def take():
    for i in range(10): next(x)
for k in range(10):
    t = threading.Thread(target=take); t.start(); t.join()
x.close()
""",
    "to_thread": """
import asyncio, sys
def work(n): return leaf(n)
def leaf(n): return n
async def main():
    loop = asyncio.get_running_loop()
    for i in range(10): await loop.run_in_executor(None, work, i)
asyncio.run(main())
""",
    "timers": """
import threading
def tick(): leaf()
def leaf(): pass
ts = [threading.Timer(0.001 * i, tick) for i in range(5)]
for t in ts: t.start()
for t in ts: t.join()
""",
}
