"""Labelled proposals: by code alone most right ones pass, none is refused, and most wrong ones do not pass."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation import review
from tests.review.test_meaning import Model, answer, entry

SETS = sorted(Path(review.__file__).parent.glob("review_cases.json"))


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_code_alone_tells_right_from_wrong(path: Path) -> None:
    cases = json.loads(path.read_text("utf-8"))
    result = review.summary(cases, [review.judged(case) for case in cases])
    right, wrong = result["right"], result["wrong"]
    assert right["refused"] == right["repairable"] == 0
    assert right["accepted"] >= 0.7 * sum(right.values())
    assert wrong["accepted"] <= 0.45 * sum(wrong.values())


def test_a_model_decides_what_code_lets_pass() -> None:
    cases = json.loads(SETS[0].read_text("utf-8"))
    states = {review.judged(case, Model(answer(entry()))).state for case in cases if case["verdict"] == "right"}
    assert states == {"accepted"}
    assert all(review.judged(case, Model(answer(entry(verdict="hold")))).state != "accepted" for case in cases)
