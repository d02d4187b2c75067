"""Breaks of ranking: names, words, meaning, and the word that nothing fits."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

LEXICAL = "tests/unit/routing/test_lexical.py"
WEIGH = "tests/unit/routing/test_weigh.py"
RANKER = "tests/unit/routing/test_ranker.py"
EXCERPTS = "tests/unit/routing/test_excerpts.py"
FUSE = "tests/unit/routing/test_fuse.py"
SPACE = "tests/unit/routing/test_space.py"
TEXT = "tests/unit/routing/test_text.py"
ENDPOINT = "tests/unit/routing/test_endpoint.py"

RANKING: Sequence[Mutant] = (
    Mutant(
        "DEFR-02",
        "a tool that is named comes where its words put it",
        "routing/fuse.py",
        "    return exact + [replace(hit, rating=rated[hit.id]) for hit in found]",
        "    return [replace(hit, rating=rated[hit.id]) for hit in found] + exact",
        (FUSE,),
    ),
    Mutant(
        "DEFR-02",
        "a search gives more than was asked for",
        "routing/ranker.py",
        "hits = _in_turns(found)[: max(0, k)]",
        "hits = _in_turns(found)",
        (RANKER,),
    ),
    Mutant(
        "DEFR-03",
        "a tool that is gone can still be selected",
        "routing/ranker.py",
        "        self._names = Names(there)\n",
        "        self._names = self._names if hasattr(self, 'updated') else Names(there)\n",
        (RANKER,),
    ),
    Mutant(
        "DEFR-04",
        "a typing error finds nothing",
        "routing/lexical.py",
        "            elif len(read_into) < typos.MOST and typos.is_plain(word):\n",
        "            elif False:\n",
        (WEIGH,),
    ),
    Mutant(
        "DEFR-04",
        "other words for the same find nothing",
        "routing/kin.py",
        "    return words + [sign for word in words if word in SIGNS for sign in SIGNS[word]]",
        "    return words",
        (WEIGH,),
    ),
    Mutant(
        "DEFR-04",
        "Chinese goes by whole runs",
        "routing/unspaced.py",
        "    return [*run, *(run[at : at + 2] for at in range(len(run) - 1))]",
        "    return [run]",
        (TEXT, LEXICAL),
    ),
    Mutant(
        "DEFR-04",
        "meaning counts in a script that the embedder can't read",
        "routing/fuse.py",
        "    nearness = {} if near is None or trust <= 0 else near.scores\n",
        "    trust = 1.0\n    nearness = {} if near is None else near.scores\n",
        (FUSE,),
    ),
    Mutant(
        "DEFR-04",
        "an endpoint's rows are taken in the order they come",
        "routing/endpoint.py",
        "        found = {row.index: row.embedding for row in data}\n",
        "        found = {at: row.embedding for at, row in enumerate(data)}\n",
        (ENDPOINT,),
    ),
    Mutant(
        "DEFR-05",
        "the best tool is always offered",
        "routing/fit.py",
        "    return sureness(hits, mentioned) > (BOTH_BAR if by_meaning else WORDS_BAR)",
        "    return True",
        (FUSE, RANKER),
    ),
    Mutant(
        "DEFR-05",
        "standing out doesn't count",
        "routing/fit.py",
        " + _GAP * gap + ",
        " + _GAP + ",
        (FUSE,),
    ),
    Mutant(
        "DEFR-04",
        "of many tools the nearest are those that are near in their main directions",
        "routing/space.py",
        "            exact = _nearness(axes @ (self._rows[chosen] - self._mean).T)",
        "            exact = rough[chosen]",
        (SPACE,),
    ),
    Mutant(
        "DEFR-04",
        "nearness is not counted in standard deviations",
        "routing/space.py",
        "        return axes / (np.sqrt(np.maximum(variance, 0.0)) + _NO_SPREAD)[:, None]",
        "        return axes",
        (SPACE,),
    ),
    Mutant(
        "DEFR-04",
        "no more tools are looked at than are wanted",
        "routing/space.py",
        "_LOOKED_AT = 3",
        "_LOOKED_AT = 1",
        (SPACE,),
    ),
    Mutant(
        "DEFR-04",
        "what short wishes leave over is lost",
        "routing/excerpts.py",
        "        waiting -= 1\n",
        "",
        (EXCERPTS,),
    ),
    Mutant(
        "DEFR-04",
        "a verb that requests begin with tells no tool from its neighbours",
        "routing/columns.py",
        "    columns = (words(name), server",
        "    columns = (_telling(name), server",
        (LEXICAL,),
    ),
    Mutant(
        "DEFR-04",
        "how a request begins is looked for in descriptions",
        "routing/columns.py",
        "    return [word for word in words(text) if word not in LIGHT_WORDS]",
        "    return words(text)",
        (LEXICAL,),
    ),
    Mutant(
        "DEFR-02",
        "whoever writes the very name is given tools with names like it",
        "routing/exact.py",
        "            if not own:\n                others",
        "            if True:\n                others",
        (LEXICAL,),
    ),
    Mutant(
        "DEFR-02",
        "a name between Chinese characters is no name",
        "routing/request.py",
        "    if count_unspaced(text):",
        "    if False:",
        (LEXICAL, TEXT),
    ),
    Mutant(
        "DEFR-05",
        "all that is not quite nothing is offered after the tool that fits",
        "routing/ranker.py",
        "                found.append(fit.worth(ranked.hits))",
        "                found.append(ranked.hits)",
        (RANKER,),
    ),
    Mutant(
        "DEFR-05",
        "whether others are near goes by a tool that was named",
        "routing/fit.py",
        "hit.rating for hit in hits if not hit.exact), 0.0)",
        "hit.rating for hit in hits), 0.0)",
        (FUSE,),
    ),
    Mutant(
        "DEFR-04",
        "all that is not quite nothing is shown with what is likely",
        "routing/ranker.py",
        "tuple(fit.worth(ranked.hits)[: max(0, k)])",
        "tuple(ranked.hits[: max(0, k)])",
        (RANKER,),
    ),
)
