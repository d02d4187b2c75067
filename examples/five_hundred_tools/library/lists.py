"""Functions of lists, sets and structures."""

from __future__ import annotations

import ast
import bisect
import collections
import functools
import heapq
import itertools
import json
import operator
from collections.abc import Iterable
from typing import Any

from library.row import rows

_I, _N, _AB, _S = "items: items", "numbers: numbers", "a: items, b: items", "items: items, n: 0..500"
_SORTED = "numbers: numbers, x: number"
_FEW = "items: items, size: 0..4"


def _limited(found: Iterable[Any], most: int = 1000) -> list[Any]:
    return list(itertools.islice(found, most))


def _inserted(numbers: list[float], x: float) -> list[float]:
    bisect.insort(numbers, x)
    return numbers


def _heaped(numbers: list[float]) -> list[float]:
    heapq.heapify(numbers)
    return numbers


# fmt: off
ROWS = [
    *rows("lists",
        ("bisect.bisect_left", bisect.bisect_left, _SORTED, ([1, 3, 3, 5], 3), 1, "Where in a sorted list a number would be inserted, before its equals."),
        ("bisect.bisect_right", bisect.bisect_right, _SORTED, ([1, 3, 3, 5], 3), 3, "Where in a sorted list a number would be inserted, after its equals."),
        ("bisect.insort", _inserted, _SORTED, ([1, 3, 5], 4), [1, 3, 4, 5], "Insert a number into a sorted list so that it stays sorted."),
        ("heapq.nlargest", heapq.nlargest, "n: 1..500, numbers: numbers", (2, [5, 1, 9, 3]), [9, 5]),
        ("heapq.nsmallest", heapq.nsmallest, "n: 1..500, numbers: numbers", (2, [5, 1, 9, 3]), [1, 3]),
        ("heapq.merge", heapq.merge, "a: numbers, b: numbers", ([1, 4], [2, 3]), [1, 2, 3, 4], "Merge two sorted lists into one that is sorted."),
        ("heapq.heapify", _heaped, _N, ([3, 2, 1],), [1, 2, 3], "Arrange a list as a heap."),
        ("itertools.accumulate", itertools.accumulate, _N, ([1, 2, 3],), [1, 3, 6], "Running totals of numbers."),
        ("itertools.chain", itertools.chain, _AB, ([1], [2, 3]), [1, 2, 3], "One list behind another."),
        ("itertools.combinations", lambda items, size: _limited(itertools.combinations(items, size)), _FEW, ([1, 2, 3], 2), [[1, 2], [1, 3], [2, 3]], "All ways to choose some of several things, in no order; the first thousand."),
        ("itertools.combinations_with_replacement", lambda items, size: _limited(itertools.combinations_with_replacement(items, size)), _FEW, ([1, 2], 2), [[1, 1], [1, 2], [2, 2]], "All ways to choose where each thing may be chosen again; the first thousand."),
        ("itertools.permutations", lambda items, size: _limited(itertools.permutations(items, size)), _FEW, ([1, 2, 3], 2), [[1, 2], [1, 3], [2, 1], [2, 3], [3, 1], [3, 2]], "All orders of some of several things; the first thousand."),
        ("itertools.product", lambda lists: _limited(itertools.product(*lists)), "lists: lists", ([[1, 2], ["a"]],), [[1, "a"], [2, "a"]], "Every combination of one thing from each list; the first thousand."),
        ("itertools.compress", itertools.compress, "items: items, keep: items", (["a", "b", "c"], [1, 0, 1]), ["a", "c"], "Those of a list for which the other list says yes."),
        ("itertools.cycle", lambda items, n: _limited(itertools.cycle(items), n), _S, ([1, 2], 5), [1, 2, 1, 2, 1], "The first n when a list is repeated over and over."),
        ("itertools.groupby", lambda items: [[key, len(list(group))] for key, group in itertools.groupby(items)], _I, (["a", "a", "b"],), [["a", 2], ["b", 1]], "Runs of equal things that stand next to each other, with their lengths."),
        ("itertools.islice", lambda items, start, stop, step: list(itertools.islice(items, start, stop, step)), "items: items, start: 0..500, stop: 0..500, step: 1..500", ([0, 1, 2, 3, 4], 1, 5, 2), [1, 3], "Part of a list, from a place to another in steps."),
        ("itertools.pairwise", itertools.pairwise, _I, ([1, 2, 3],), [[1, 2], [2, 3]], "Each thing of a list with the one behind it."),
        ("itertools.repeat", lambda value, times: [value] * times, "value: any, times: 0..500", ("x", 3), ["x", "x", "x"], "A list of the same thing several times."),
        ("itertools.zip_longest", itertools.zip_longest, _AB, ([1, 2], ["a"]), [[1, "a"], [2, None]], "Pairs of two lists, with nothing where the shorter one has ended."),
        ("itertools.count", lambda start, step, n: _limited(itertools.count(start, step), n), "start: int, step: int, n: 0..500", (10, 5, 3), [10, 15, 20], "n numbers in equal steps."),
        ("itertools.differences", lambda numbers: [b - a for a, b in itertools.pairwise(numbers)], _N, ([1, 4, 9],), [3, 5], "By how much each number differs from the one before."),
        ("itertools.takewhile", lambda numbers, x: itertools.takewhile(lambda n: n < x, numbers), "numbers: numbers, below: number", ([1, 2, 9, 1], 5), [1, 2], "The numbers of a list up to the first that is not below a limit."),
        ("itertools.dropwhile", lambda numbers, x: itertools.dropwhile(lambda n: n < x, numbers), "numbers: numbers, below: number", ([1, 2, 9, 1], 5), [9, 1], "The numbers of a list from the first on that is not below a limit."),
        ("functools.reduce", lambda numbers, a, b: functools.reduce(lambda x, c: x * a + c * b, numbers, 0), "numbers: numbers, by: number, times: number", ([1, 2, 3], 10, 1), 123, "Fold a list into one number: what there is by one factor, plus each number by another."),
        ("builtins.all", all, _I, ([1, 0],), False),
        ("builtins.any", any, _I, ([1, 0],), True),
        ("builtins.enumerate", enumerate, _I, (["a", "b"],), [[0, "a"], [1, "b"]], "Each thing of a list with its number."),
        ("builtins.len", len, _I, ([1, 2, 3],), 3),
        ("builtins.max", max, _N, ([3, 9, 4],), 9, "The largest of several numbers."),
        ("builtins.min", min, _N, ([3, 9, 4],), 3, "The smallest of several numbers."),
        ("builtins.range", lambda a, b, step: _limited(range(a, b, step)), "start: int, stop: int, step: 1..1000000", (0, 10, 3), [0, 3, 6, 9], "Whole numbers from one to another in steps; the first thousand."),
        ("builtins.reversed", reversed, _I, ([1, 2],), [2, 1], "A list in the opposite order."),
        ("builtins.sorted", sorted, _N, ([3, 1, 2],), [1, 2, 3], "Numbers in ascending order."),
        ("builtins.sum", sum, _N, ([1, 2, 3.5],), 6.5, "The total of several numbers."),
        ("builtins.zip", zip, _AB, ([1, 2], ["a", "b"]), [[1, "a"], [2, "b"]], "Pairs of two lists, as long as both have something."),
        ("list.sort_texts", lambda texts: sorted(texts, key=str.casefold), "texts: texts", (["b", "A"],), ["A", "b"], "Words in alphabetical order, whatever their case."),
        ("list.sort_by_length", lambda texts: sorted(texts, key=len), "texts: texts", (["ccc", "a"],), ["a", "ccc"], "Words by their length, the shortest first."),
        ("list.count", operator.countOf, "items: items, value: any", (["a", "b", "a"], "a"), 2, "How often something occurs in a list."),
        ("list.index", operator.indexOf, "items: items, value: any", (["a", "b"], "b"), 1, "The place of something in a list, counted from 0."),
        ("list.contains", operator.contains, "items: items, value: any", (["a"], "b"), False, "Whether something is in a list."),
        ("list.unique", lambda items: list(dict.fromkeys(items)), _I, ([2, 1, 2],), [2, 1], "A list without its duplicates, in the same order."),
        ("list.chunk", lambda items, size: [items[at:at + size] for at in range(0, len(items), size)], "items: items, size: 1..500", ([1, 2, 3], 2), [[1, 2], [3]], "Cut a list into pieces of a size."),
        ("list.flatten", itertools.chain.from_iterable, "lists: lists", ([[1], [2, 3]],), [1, 2, 3], "One list of all things that stand in several."),
        ("list.transpose", lambda lists: zip(*lists, strict=True), "lists: lists", ([[1, 2], [3, 4]],), [[1, 3], [2, 4]], "Make the rows of a table its columns."),
        ("list.rotate", lambda items, n: items[-n % len(items):] + items[:-n % len(items)], "items: items, n: -500..500", ([1, 2, 3], 1), [3, 1, 2], "Move the things of a list round by so many places."),
        ("list.dot", lambda a, b: sum(map(operator.mul, a, b)), "a: numbers, b: numbers", ([1, 2], [3, 4]), 11, "The scalar product of two vectors."),
    ),
    *rows("sets",
        ("set.union", lambda a, b: set(a) | set(b), "a: texts, b: texts", (["a"], ["b", "a"]), ["a", "b"], "What is in one of two lists or in both, each once."),
        ("set.intersection", lambda a, b: set(a) & set(b), "a: texts, b: texts", (["a", "c"], ["b", "a"]), ["a"], "What two lists have in common."),
        ("set.difference", lambda a, b: set(a) - set(b), "a: texts, b: texts", (["a", "c"], ["a"]), ["c"], "What is in the first list and missing from the second."),
        ("set.symmetric_difference", lambda a, b: set(a) ^ set(b), "a: texts, b: texts", (["a", "c"], ["b", "a"]), ["b", "c"], "What is in exactly one of two lists."),
        ("set.issubset", lambda a, b: set(a) <= set(b), "a: texts, b: texts", (["a"], ["b", "a"]), True, "Whether all of the first list is in the second."),
        ("set.isdisjoint", lambda a, b: set(a).isdisjoint(b), "a: texts, b: texts", (["a"], ["b"]), True, "Whether two lists have nothing in common."),
        ("collections.Counter", lambda items: collections.Counter(map(str, items)), _I, (["a", "b", "a"],), {"a": 2, "b": 1}, "How often each thing occurs in a list."),
        ("Counter.most_common", lambda items, n: collections.Counter(map(str, items)).most_common(n), _S, (["a", "b", "a"], 1), [["a", 2]], "The most frequent things of a list, with how often they occur."),
        ("Counter.subtract", lambda a, b: collections.Counter(a) - collections.Counter(b), "a: texts, b: texts", (["a", "a", "b"], ["a"]), {"a": 1, "b": 1}, "What is left of a list when another is taken away, with how often."),
        ("Counter.letters", collections.Counter, "text: text", ("noon",), {"n": 2, "o": 2}, "How often each letter occurs in a text."),
    ),
    *rows("structured data",
        ("json.dumps", lambda value: json.dumps(value, ensure_ascii=False), "value: any", ({"a": [1, None]},), '{"a": [1, null]}', "A value as JSON text in one line."),
        ("json.pretty", lambda value: json.dumps(value, indent=2, ensure_ascii=False), "value: any", ({"a": 1},), '{\n  "a": 1\n}', "A value as JSON text, indented for reading."),
        ("json.loads", json.loads, "text: text", ('{"a": 1}',), {"a": 1}, "Read a JSON text."),
        ("json.keys", lambda text: sorted(json.loads(text)), "text: text", ('{"b": 1, "a": 2}',), ["a", "b"], "The names in a JSON object that is given as text."),
        ("ast.literal_eval", ast.literal_eval, "text: word", ("(1, 'a')",), [1, "a"], "Read a Python literal such as a tuple or a list."),
        ("dict.invert", lambda values: {str(value): key for key, value in values.items()}, "values: map", ({"a": "x"},), {"x": "a"}, "A mapping with its keys and values exchanged."),
        ("dict.merge", operator.or_, "a: map, b: map", ({"x": 1}, {"x": 2, "y": 3}), {"x": 2, "y": 3}, "Two mappings as one; the second goes first where both say something."),
        ("dict.sort_by_value", lambda values: dict(sorted(values.items(), key=lambda item: item[1])), "values: map", ({"a": 2, "b": 1},), {"b": 1, "a": 2}, "A mapping with its smallest values first."),
    ),
]
