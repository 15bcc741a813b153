"""What models say, as plain values."""

from pycodex.protocol.app.account import LoginAccountParams
from pycodex.protocol.app.command_exec import CommandExecParams
from pycodex.protocol.app.config_values import AppConfig, AppsConfig, Config
from pycodex.protocol.app.legacy import GetConversationSummaryParams
from pycodex.protocol.app.response_items import ResponseItem
from pycodex.protocol.app.settings import AskForApproval, ModeKind
from pycodex.protocol.app.shape import (
    Anything,
    External,
    Field,
    Nullable,
    Shape,
    Struct,
    Tagged,
    Untagged,
    Words,
    shape_of,
)
from pycodex.protocol.app.thread_starts import ThreadStartParams
from pycodex.protocol.app.threads import Thread


def field(shape: Shape, name: str) -> Field:
    assert isinstance(shape, Struct)
    return next(each for each in shape.fields if each.name == name)


def test_a_model_is_a_struct_by_its_names_on_the_wire() -> None:
    shape = shape_of(CommandExecParams)
    assert isinstance(shape, Struct)
    assert (shape.name, shape.is_params, shape.rest, shape.is_closed) == ("CommandExecParams", True, None, False)
    assert [each.name for each in shape.fields if each.is_required] == ["command"]
    assert field(shape, "streamStdin").default is False


def test_the_shape_of_a_model_is_made_once() -> None:
    assert shape_of(ThreadStartParams) is shape_of(ThreadStartParams)


def test_words_and_single_keys_make_an_external_union_in_their_order() -> None:
    shape = shape_of(AskForApproval)
    assert isinstance(shape, External)
    assert list(shape.variants) == ["untrusted", "on-failure", "on-request", "granular", "never"]
    granular = shape.variants["granular"]
    assert granular is not None
    assert granular.experimental == "askForApproval.granular"


def test_variants_are_told_apart_by_their_tag() -> None:
    shape = shape_of(LoginAccountParams)
    assert isinstance(shape, Tagged)
    assert (shape.name, shape.tag) == ("LoginAccountParams", "type")
    assert list(shape.variants) == ["apiKey", "chatgpt", "chatgptAuthTokens", "chatgptDeviceCode"]
    assert list(shape.old_variants) == ["apiKey", "chatgpt", "chatgptAuthTokens"]
    assert shape.fallback is None


def test_a_variant_may_stand_for_words_that_nobody_knows() -> None:
    shape = shape_of(ResponseItem)
    assert isinstance(shape, Tagged)
    assert (shape.fallback, shape.synonyms) == ("other", {"compaction_summary": "compaction"})


def test_shapes_that_nothing_tells_apart_are_tried() -> None:
    assert isinstance(shape_of(GetConversationSummaryParams), Untagged)


def test_words_have_synonyms() -> None:
    shape = shape_of(ModeKind)
    assert isinstance(shape, Words)
    assert (shape.words, shape.synonyms["code"]) == (("plan", "default"), "default")


def test_marks_are_those_of_the_field() -> None:
    shape = shape_of(ThreadStartParams)
    assert field(shape, "dynamicTools").experimental == "thread/start.dynamicTools"
    assert isinstance(field(shape, "approvalPolicy").shape, Nullable)
    assert field(shape_of(Thread), "sessionId").is_newer
    assert not field(shape_of(Thread), "id").is_newer


def test_open_shapes_say_what_the_rest_is() -> None:
    config, apps = shape_of(Config), shape_of(AppsConfig)
    assert isinstance(config, Struct)
    assert isinstance(apps, Struct)
    assert isinstance(config.rest, Anything)
    assert apps.rest is shape_of(AppConfig)
