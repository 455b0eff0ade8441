"""The scanner that the rules on Rust rest on: what is code, and where a function ends."""

from __future__ import annotations

import pytest

from support.rust_source import Function, bare, functions, without_tests


def lengths(text: str) -> dict[str, int]:
    return {function.name: function.code_lines for function in functions(without_tests(bare(text)))}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a // } b\nc", "a       \nc"),
        ("a /* { /* { */ } */ b", f"a{' ' * 19}b"),
        ('f("{")', "f(___)"),
        (r'f("\"{", g)', r"f(_____, g)"),
        ('f(b"{", c"{")', "f(____, ____)"),
        ('f(r"{\\", g)', "f(_____, g)"),
        ('f(r#"{"}"#, g)', "f(________, g)"),
        ('f(br##"{"#}"##, g)', "f(____________, g)"),
        ("f('{', b'}')", "f(___, ____)"),
        (r"f('\'', '\\', '\u{7b}', '\x7b')", "f(____, ____, ________, ______)"),
        ("fn f<'a>(b: &'a str) {}", "fn f<'a>(b: &'a str) {}"),
        ("'outer: loop { break 'outer; }", "'outer: loop { break 'outer; }"),
        ('let r#fn = bar"";', "let r#fn = bar__;"),
        ('"http://x" // y', "__________     "),
        ('"two\nlines"', "____\n______"),
    ],
)
def test_comments_are_blank_and_literals_are_not(text: str, code: str) -> None:
    assert bare(text) == code


@pytest.mark.parametrize("literal", ['"', 'r#"{"', "'{", "/* {"])
def test_an_open_end_hides_no_brace(literal: str) -> None:
    with pytest.raises((AssertionError, ValueError)):
        list(functions(bare(f"fn f() {{ {literal}")))


def test_code_lines_are_those_between_the_braces() -> None:
    text = """
        fn f() {
            // why
            one();

            two(); // here
            /* and
               there */
        }
        fn g() -> u8 { 1 }
        fn h() {}
    """
    assert lengths(text) == {"f": 2, "g": 1, "h": 0}


def test_a_function_has_its_line_and_those_within_count_for_both() -> None:
    text = "\n\nfn outer() {\n    fn inner() {\n        x();\n    }\n    inner();\n}\n"
    assert list(functions(bare(text))) == [Function("outer", 3, 4), Function("inner", 4, 1)]


def test_only_bodies_count() -> None:
    text = """
        trait Promise { fn promised(&self, bytes: [u8; 4]) -> Option<u8>; fn kept(&self) { x() } }
        extern "C" { fn foreign(callback: extern "C" fn(u8)); }
        const POINTER: fn(u8) -> u8 = f;
        fn f<const N: usize>(array: [u8; N], size: Sized<{ N + 1 }>) -> Other<u8, { 2 }>
        where
            [u8; { N }]: Sized,
        {
            y();
            z()
        }
    """
    assert lengths(text) == {"kept": 1, "f": 2}


def test_macros_are_read_as_they_stand() -> None:
    text = """
        macro_rules! make {
            ($name:ident) => {
                fn $name() { x(); }
                pub fn fixed() {
                    format!("{}", y);
                }
            };
        }
    """
    assert lengths(text) == {"fixed": 1}


def test_tests_in_a_source_do_not_count() -> None:
    text = """
        fn f() { x() }
        #[cfg(test)]
        mod tests {
            fn g() { "}"; }
        }
        mod kept { fn h() { y() } }
    """
    assert lengths(text) == {"f": 1, "h": 1}
