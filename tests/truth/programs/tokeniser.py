"""The tokeniser is Python code of many small functions; the model is native."""

import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, native, truth

words = ["Inference", "is", "slow,", "and", "nobody", "knows", "why!"] * 250
vocabulary = {word.lower().strip(",!"): i for i, word in enumerate(words)}


def normalise(word: str) -> str:
    out = ""
    for letter in word:
        out += letter.lower()
    return out


def strip(word: str) -> str:
    while word and word[-1] in ",!.?":
        word = word[:-1]
    return word


def look_up(word: str) -> int:
    found = -1
    for key in (word, word[:4], word[:2]):
        if key in vocabulary and found < 0:
            found = vocabulary[key]
    return found


def check(word: str) -> bool:
    good = True
    for letter in word[:5]:
        good = good and letter != "_"
    return good


def tokenise() -> "list[int]":
    if FIXED:
        return []
    return [look_up(strip(normalise(word))) for word in words if check(word)]


slow, all_of_it = Clock(), Clock()
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with all_of_it, scope("request"):
        with slow, scope("tokenise"):
            tokenise()
        with scope("forward"):
            native(1)
truth("slow_stage", slow.spent / all_of_it.spent * 100, one=all_of_it.mean)
