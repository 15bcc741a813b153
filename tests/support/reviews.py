"""What reviewers say, as tests need it."""

import json
from typing import Any


def finding(**fields: Any) -> dict[str, Any]:
    return {
        "title": "[P1] Bug",
        "body": "Body text\nmore",
        "confidence_score": 0.9,
        "priority": 1,
        "code_location": {"absolute_file_path": "/x/a.py", "line_range": {"start": 3, "end": 5}},
        **fields,
    }


def report(*findings: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "findings": list(findings),
        "overall_correctness": "patch is incorrect",
        "overall_explanation": "Overall bad",
        "overall_confidence_score": 0.8,
        **fields,
    }


REPORT = json.dumps(report(finding()))
RENDERED = "Overall bad\n\nReview comment:\n\n- [P1] Bug — /x/a.py:3-5\n  Body text\n  more"
