"""Small cases of every kind through ``bench/bfcl.py``: the whole data is downloaded by hand."""

import importlib
import json
import zipfile

import pytest

from callslip.ports.model import Proposal, Reply

OBJECT = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "w": {"type": "number"}, "on": {"type": "boolean"}},
}
CASES = [
    {
        "id": "dots_and_options",
        "functions": [
            {"name": "math.add", "description": "Add.", "parameters": OBJECT | {"required": ["n"]}},
            {"name": "math_add", "description": "", "parameters": OBJECT},
        ],
        "calls": [{"name": "math.add", "arguments": {"n": 2**53 - 1}}, {"name": "math_add", "arguments": {"w": 1.0}}],
    },
    {
        "id": "deep",
        "functions": [
            {
                "name": "tree",
                "description": "A tree.",
                "parameters": {
                    "type": "object",
                    "properties": {"rows": {"type": "array", "items": OBJECT}, "any": {}},
                    "required": ["rows"],
                },
            }
        ],
        "calls": [{"name": "tree", "arguments": {"rows": [{"n": 1}, {}, {"on": False}], "any": {"x": [None, "é"]}}}],
    },
]  # fmt: skip


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "cases.jsonl"
    wrong = CASES[1] | {"id": "wrong", "calls": [{"name": "tree", "arguments": {}}]}
    path.write_text("\n".join(json.dumps(case) for case in [*CASES, wrong]))
    return path


@pytest.fixture
def bfcl():
    return importlib.import_module("bfcl")


@pytest.mark.requirement("WIRE-01", "WIRE-02", "WIRE-03")
def test_calls_come_out_as_they_went_in(bfcl, file):
    said = bfcl.document(list(bfcl.read_cases(file)), list(bfcl.MODELS))
    assert said["faults"] == {}
    assert said["identical_through_all"] == {"value": 2, "of": 2, "met": True}
    assert said["names"] == {"names": 3, "refused_somewhere": 1, "legal_and_back_without_collision": True}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("math_add", {"n": 2**53 - 1}), ("math.add", {"n": 2**53}), ("math.add", {}), ("math.add", {"n": "1"})],
)
def test_a_call_that_came_out_otherwise_is_told(bfcl, file, name, arguments):
    case = next(iter(bfcl.read_cases(file)))
    wire = bfcl.Wire("openai_chat")
    right = [Proposal(tool=one["name"], arguments=one["arguments"], provider_id="") for one in case.calls]
    wire._same(case, Reply(text="", proposals=tuple(right), finish="calls"), bfcl.judged(case))
    changed = (Proposal(tool=name, arguments=arguments, provider_id=""), *right[1:])
    with pytest.raises(bfcl.Failed):
        wire._same(case, Reply(text="", proposals=changed, finish="calls"), bfcl.judged(case))


def test_a_wheel_is_read_in_its_own_dialect(bfcl, tmp_path):
    parameters = {"type": "dict", "properties": {"x": {"type": "float", "optional": True}, "y": {"type": "any"}}}
    asked = {"id": "simple_python_0", "function": [{"name": "f", "description": "F.", "parameters": parameters}]}
    truth = {"x": [1.5, 2], "y": [{"a": ["", 1], "b": [[1], 2]}], "z": ["", 3]}
    answer = {"id": "simple_python_0", "ground_truth": [{"f": truth}]}
    path = tmp_path / "made.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for category in importlib.import_module("bfcl_data").CATEGORIES:
            lines = (json.dumps(asked), json.dumps(answer)) if category == "simple_python" else ("", "")
            wheel.writestr(f"bfcl_eval/data/BFCL_v4_{category}.json", lines[0])
            wheel.writestr(f"bfcl_eval/data/possible_answer/BFCL_v4_{category}.json", lines[1])
    (case,) = bfcl.read_cases(path)
    assert case.calls == [{"name": "f", "arguments": {"x": 1.5, "y": {"b": [1]}}}]
    assert case.functions[0]["parameters"] == {"type": "object", "properties": {"x": {"type": "number"}, "y": {}}}
