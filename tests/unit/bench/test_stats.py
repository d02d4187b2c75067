"""The script that measures statistics runs and says what it is documented to say; no time is judged here."""

import importlib


def test_stats(tmp_path):
    figures = importlib.import_module("stats").document(tmp_path, records=600, sessions=3, rounds=1)
    long = figures["long_session_records_by_cpu_second"]
    assert long["records"] > 400
    assert {"value", "at_least", "met"} <= set(long)
    assert figures["short_sessions"]["sessions"] == 3
    assert figures["short_sessions"]["by_cpu_second"] > 0
