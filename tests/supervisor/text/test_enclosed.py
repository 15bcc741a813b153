"""Nothing that others say gets out of the tags that it is put between."""

import pytest

from pycodex.supervisor.text.enclosed import enclosed


@pytest.mark.parametrize("tag", ["</result>", "</RESULT>", "</ result >", "< /result>", "</result\n>"])
def test_tag_is_not_closed(tag: str) -> None:
    assert enclosed(f"a{tag}b", "result", "outer") == f"a<\\{tag[1:]}b"


@pytest.mark.parametrize("text", ["", "<result>", "</results>", "</div>", "a < /b", "1 </ 2"])
def test_all_else_stays_as_it_is(text: str) -> None:
    assert enclosed(text, "result", "outer") == text
