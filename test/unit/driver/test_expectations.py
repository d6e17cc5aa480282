"""`expected-error` comments: places, counts, regular expressions, levels."""

from __future__ import annotations

import pytest

from nn_opt.driver.expectations import expected_messages, messages_of, mismatches
from nn_opt.ir.diagnostics import Diagnostic, DiagnosticError


def error(
    line: int,
    text: str = "it is bad",
    severity: str = "error",
    hint: str = "",
    notes: tuple[Diagnostic, ...] = (),
) -> Diagnostic:
    place = f"m.mlir:{line}:1" if line else ""
    return Diagnostic(severity, place, text, hint=hint, notes=notes)


def differences(source: str, *said: Diagnostic, level: str = "errors") -> list[str]:
    expected = expected_messages(source, "m.mlir")
    return [d.message for d in mismatches(expected, messages_of(said, "m.mlir"), "m.mlir", level)]


@pytest.mark.parametrize(
    ("comment", "line"),
    [
        ("expected-error {{is bad}}", 2),
        ("expected-error@+1 {{is bad}}", 3),
        ("expected-error @+1 {{is bad}}", 3),
        ("expected-error@-1 {{is bad}}", 1),
        ("expected-error@above {{is bad}}", 1),
        ("expected-error@below {{is bad}}", 3),
        ("expected-error@7{{is bad}}", 7),
        ("expected-error@unknown {{is bad}}", 0),
        ("expected-error-re@+1 {{is {{b.d}}}}", 3),
        ("expected-error-re {{it {{[a-z]+}} {{b|c}}ad}}", 2),
        ("expected-error@+1 1 {{is bad}}", 3),
    ],
)
def test_a_place_decides(comment: str, line: int):
    source = f"\n// {comment}\n\n"
    assert differences(source, error(line)) == []
    assert len(differences(source, error(line + 1))) == 2
    assert len(differences(source, error(line, "another"))) == 2


@pytest.mark.parametrize(
    ("count", "right", "wrong"),
    [
        ("", (1, 2), (0,)),
        ("1", (1,), (0, 2)),
        ("2", (2,), (0, 1, 3)),
        ("2+", (2, 5), (1,)),
        ("0-1", (0, 1), (2,)),
        ("1-2", (1, 2), (0, 3)),
    ],
)
def test_counts(count: str, right: tuple[int, ...], wrong: tuple[int, ...]):
    source = f"// expected-error {count} {{{{bad}}}}"
    for number in right:
        assert differences(source, *[error(1)] * number) == []
    for number in wrong:
        assert len(differences(source, *[error(1)] * number)) == 1


def test_several_on_a_line_and_of_a_chunk():
    source = "// expected-error {{one}} expected-note@+1 {{two}} // expected-error {{three}}"
    note = Diagnostic("note", "m.mlir:2:1", "two")
    said = [error(1, "one", notes=(note,)), error(1, "three")]
    assert differences(source, *said) == []
    assert differences(source, said[1], said[0]) == []
    (missing,) = differences(source, error(1, "one"), said[1])
    assert missing == 'expected note "two" was not produced'


def test_braces_belong_to_the_text():
    assert differences("// expected-error {{a {b} }}", error(1, "is a {b} here")) == []
    assert differences("// expected-error {{<{a = 1}}}", error(1, "<{a = 1}>")) == []


def test_levels():
    said = [error(1, severity="warning"), error(1, severity="remark"), error(1, severity="note")]
    assert differences("", *said) == ["unexpected warning: it is bad"]
    assert len(differences("", *said, level="all")) == 3
    assert differences("", *said, error(2), level="only-expected") == []
    assert len(differences("// expected-error {{bad}}", *said, level="only-expected")) == 1


def test_a_near_miss_is_named():
    expected = expected_messages("// expected-error {{bad}}", "m.mlir")
    first, _ = mismatches(expected, messages_of([error(5)], "m.mlir"), "m.mlir")
    assert first.hint == "it came as error at line 5"


def test_another_file_is_no_place_in_this_one():
    other = Diagnostic("error", "other.mlir:1:1", "it is bad")
    assert differences("// expected-error@unknown {{bad}}", other) == []
    assert len(differences("// expected-error {{bad}}", other)) == 2


def test_hints_and_notes_without_a_place_count_as_text():
    note = Diagnostic("note", "", "after --cse")
    said = error(1, hint="do this", notes=(note,))
    assert differences("// expected-error {{hint: do this}}", said) == []
    assert differences("// expected-error {{after --cse}}", said) == []


@pytest.mark.parametrize(
    "line",
    ["// expected-error {bad}", "// expected-error@+1 {{bad", "// expected-error-re {{a{{(}}}}"],
)
def test_a_comment_that_expects_nothing_is_refused(line: str):
    with pytest.raises(DiagnosticError, match=r"m\.mlir:1:4: error"):
        expected_messages(line, "m.mlir")


def test_what_differs_is_shown_in_its_place():
    said = Diagnostic("error", "m.mlir:4:9", "it is so", hint="do this")
    expected = expected_messages("\n  // expected-error@+2 {{bad}}", "m.mlir")
    missing, unexpected = mismatches(expected, messages_of([said], "m.mlir"), "m.mlir")
    assert missing.place == "m.mlir:2:6"
    assert str(unexpected) == "m.mlir:4:9: error: unexpected error: it is so\n  hint: do this"
