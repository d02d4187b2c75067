"""Breaks of what the search for tools makes of damage, of an embedder that is slow or fails, and of a stop."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

LEXICAL = "tests/unit/routing/test_lexical.py"
KEPT = "tests/unit/routing/test_kept_vectors.py"
PATIENT = "tests/unit/routing/test_patient.py"
FINDER = "tests/unit/routing/test_finder.py"
ENDPOINT = "tests/unit/routing/test_endpoint.py"
SEARCH = "tests/unit/sources/test_tool_search.py"
WAITING = "tests/unit/agent/test_waiting_for_tools.py"
DOCTOR = "tests/unit/cli/test_doctor_routing.py"

SEARCH_TROUBLE: Sequence[Mutant] = (
    Mutant(
        "DEFR-04",
        "a copy of the index that is another one is believed",
        "routing/kept_index.py",
        "    if hashlib.sha256(image).digest() != digest:",
        "    if len(digest) != _DIGEST:",
        (LEXICAL, DOCTOR),
    ),
    Mutant(
        "DEFR-04",
        "what is wrong with the copy beyond the database itself fails every search",
        "routing/lexical.py",
        "            except Exception as error:  # noqa: BLE001 - the tools are all",
        "            except sqlite3.DatabaseError as error:  # noqa: BLE001 - the tools are all",
        (LEXICAL,),
    ),
    Mutant(
        "DEFR-04",
        "what is worked out from the copy is not within the guard",
        "routing/lexical.py",
        "        done = self._change(wanted)\n        self._read_cards()\n        return done",
        "        return self._change(wanted)",
        (LEXICAL,),
    ),
    Mutant(
        "DEFR-04",
        "what a killed writer has left stays for ever",
        "routing/kept_index.py",
        "            left.unlink(missing_ok=True)",
        "            pass",
        (LEXICAL,),
    ),
    Mutant(
        "DEFR-04",
        "what another process is just writing is taken away",
        "routing/kept_index.py",
        "st_mtime > _DEAD:",
        "st_mtime > -1e12:",
        (LEXICAL,),
    ),
    Mutant(
        "DEFR-04",
        "a kept vector that is no number blinds every search",
        "routing/kept_vectors.py",
        "rows, good.tolist(), strict=True) if sound}",
        "rows, good.tolist(), strict=True)}",
        (KEPT,),
    ),
    Mutant(
        "DEFR-04",
        "the vectors' file is replaced while another process uses it",
        "routing/kept_vectors.py",
        "(code is None or code & 0xFF not in _SOUND)",
        "True",
        (KEPT,),
    ),
    Mutant(
        "DEFR-04",
        "what was embedded is kept only if all of it was",
        "routing/vectors.py",
        "            self._kept.keep(made)\n",
        "",
        (KEPT,),
    ),
    Mutant(
        "DEFR-04",
        "without a file, what was embedded before a failure is paid for again",
        "routing/vectors.py",
        "strict=True)) | self._made",
        "strict=True))",
        (KEPT,),
    ),
    Mutant(
        "DEFR-04",
        "vectors are taken as long as the embedder makes them",
        "routing/vectors.py",
        '        return (rows / np.maximum(lengths, 1e-12)).astype("float32")',
        "        return rows",
        (KEPT,),
    ),
    Mutant(
        "DEFR-04",
        "an embedder that hangs is asked by one search after the other",
        "routing/patient.py",
        " or self._going_on()):",
        "):",
        (PATIENT,),
    ),
    Mutant(
        "DEFR-04",
        "an embedder that has failed is never asked again",
        "routing/patient.py",
        "self._monotonic() < self._again or",
        "self._again or",
        (PATIENT, FINDER),
    ),
    Mutant(
        "DEFR-04",
        "what could not be loaded once is given up for good",
        "routing/meaning.py",
        "(self._failed and now < self._again)",
        "self._failed",
        (FINDER,),
    ),
    Mutant(
        "DEFR-04",
        "who searches while tools are indexed waits until they are",
        "routing/meaning.py",
        "async with asyncio.timeout(left):",
        "async with asyncio.timeout(None):",
        (FINDER,),
    ),
    Mutant(
        "DEFR-04",
        "an embedder that could not be loaded is not said in the result",
        "routing/ranker.py",
        '        self._blind = without if vectors is None else ""\n',
        '        self._blind = ""\n',
        (FINDER,),
    ),
    Mutant(
        "DEFR-04",
        "a name that is known waits for an embedder that is slow",
        "routing/finder.py",
        "        if self._meaning is not None and not all(map(selects, queries)):",
        "        if self._meaning is not None:",
        (FINDER,),
    ),
    Mutant(
        "DEFR-04",
        "an embedder's failure is not told where tools are preselected",
        "routing/finder.py",
        "        self._tell(answer.trouble)\n        return tuple(hit.id for hit in answer.hits)",
        "        return tuple(hit.id for hit in answer.hits)",
        (FINDER,),
    ),
    Mutant(
        "DEFR-04",
        "an endpoint that gives a byte now and then is waited for",
        "routing/endpoint.py",
        "                asyncio.timeout(seconds),",
        "                asyncio.timeout(None),",
        (ENDPOINT,),
    ),
    Mutant(
        "DEFR-04",
        "two servers on one host share vectors",
        "routing/endpoint.py",
        "{host}:{port}{parts.path.rstrip('/')}",
        "{host}",
        (ENDPOINT,),
    ),
    Mutant(
        "DEFR-04",
        "an endpoint's answer may be as long as it likes",
        "routing/endpoint.py",
        "        if len(body) > most:",
        "        if False:",
        (ENDPOINT,),
    ),
    Mutant(
        "DEFR-04",
        "a search that fails before a step fails the run",
        "agent/showing.py",
        "    except Exception:  # noqa: BLE001 - whatever it is, the model",
        "    except ZeroDivisionError:  # noqa: BLE001 - whatever it is, the model",
        (WAITING,),
    ),
    Mutant(
        "DEFR-04",
        "a stop is not heard while tools are indexed before a step",
        "agent/showing.py",
        "    fitting = await unless_stopped(drive, work, new_turn=turn != drive.state.turn)",
        "    fitting = await work",
        (WAITING,),
    ),
    Mutant(
        "DEFR-04",
        "nobody is told what a run waits for before its first step",
        "agent/showing.py",
        "        if finder.doing:",
        "        if False:",
        (WAITING,),
    ),
    Mutant(
        "DEFR-02",
        "of many names the rest vanishes without a number",
        "sources/tool_search.py",
        "        if match.more_left_off:",
        "        if False:",
        (SEARCH,),
    ),
    Mutant(
        "DEFR-02",
        "the log counts only those unknown names that are said",
        "sources/tool_search.py",
        "sum(len(match.unknown) + match.more_unknown for",
        "sum(len(match.unknown) for",
        (SEARCH,),
    ),
)
