"""Five hundred functions of Python's standard library as tools: no file, no network, no call that works for long."""

from library import addresses, codes, dates, lists, numbers_and_maths, statistics_and_chance, texts

ROWS = [
    row
    for part in (numbers_and_maths, statistics_and_chance, texts, dates, lists, codes, addresses)
    for row in part.ROWS
]
TOOLS = [row.tool for row in ROWS]
