"""``bench/leases.py`` runs and says what it is documented to say; no time is judged here."""

import importlib


def test_leases(tmp_path):
    figures = importlib.import_module("leases").measured(tmp_path, rounds=1, calls=5)
    assert figures["in_process_us"]["at_most"] == 30
    assert figures["in_process_us"]["value"] > 0
    assert min(figures[name] for name in ("path_resolved_us", "shared_us", "bare_sqlite_us", "shared_to_bare")) > 0


def test_the_history_and_the_crowd(tmp_path):
    module = importlib.import_module("leases")
    history = module.seen(tmp_path, "history", 2, 20, 1, 60_000)
    assert (history["acquisitions"], history["violations"]) == (40, [])
    assert module.seen(tmp_path, "crowd", 2, 2)["had_it"] == 4
