//! What programs may be written with.

use crate::rehearsal::{check, check_hint};

#[test]
fn statements_stand_at_the_top_level() {
    check("for i in range(3):\n    if i == 1:\n        print(i)\nresult = i", "1\n= 2");
    check("x = 0\nfor i in range(4):\n    x += i\nresult = x", "= 6");
}

#[test]
fn functions_lambdas_and_recursion_work() {
    check("def f(a, *, b=2):\n    return a + b\nresult = f(1, b=4)", "= 5");
    check("def f(a, /, b):\n    return a * b\nresult = f(3, 4)", "= 12");
    check(
        "def f(*args, **kwargs):\n    return [args, kwargs]\nresult = f(1, a=2)",
        r#"= [[1],{"a":2}]"#,
    );
    check("result = (lambda x: x + 1)(1)", "= 2");
    check(
        "def fact(n):\n    return 1 if n < 2 else n * fact(n - 1)\nresult = fact(10)",
        "= 3628800",
    );
    check(
        "def outer():\n    n = 5\n    def inner(): return n\n    return inner\nresult = outer()()",
        "= 5",
    );
}

#[test]
fn types_are_read_and_not_looked_at() {
    check(
        "def f(a: int, b: list[str] = []) -> dict[str, int]:\n    return a\nx: str = 5\nresult = [f('text'), x]",
        r#"= ["text",5]"#,
    );
}

#[test]
fn strings_are_formatted_in_every_way() {
    check("name = 'a'\nn = 2\nresult = f'{name}-{n}'", r#"= "a-2""#);
    check("x = {'a': [1, 2]}\nresult = f\"{x['a'][1] + 1} {len(x)}\"", r#"= "3 1""#);
    check("result = '%s-%d' % ('a', 2) + '{}{x}'.format(1, x=2)", r#"= "a-212""#);
    check("result = ' a,b '.strip().upper().split(',')", r#"= ["A","B"]"#);
}

#[test]
fn what_models_write_out_of_habit_is_there() {
    check(
        "result = [sum([1, 2, 3]), sum([0.5, 1]), sum([[1], [2]], []), sum(range(4), start=1)]",
        "= [6,1.5,[1,2],7]",
    );
    check(
        "result = [isinstance({}, dict), isinstance(1, str), type([]), type(None)]",
        r#"= [true,false,"list","NoneType"]"#,
    );
    check("result = [i for i, c in enumerate('abc'.elems()) if c != 'b']", "= [0,2]");
    check(
        "result = sorted([{'n': 2}, {'n': 1}], key=lambda x: x['n'], reverse=True)",
        r#"= [{"n":2},{"n":1}]"#,
    );
    check("result = map(lambda x: x * 2, filter(lambda x: x > 1, [1, 2, 3]))", "= [4,6]");
    check(
        "result = [any([0, 1]), all([]), min(3, 1), max([1, 5]), abs(-2), list(zip([1], [2]))]",
        "= [true,true,1,5,2,[[1,2]]]",
    );
    check(
        "s = struct(a=1)\nresult = [s.a, len({1: 2}), {**{'a': 1}, 'b': 2}]",
        r#"! syntax 2: unexpected symbol '**', expected expression"#,
    );
    check(
        "d = {'a': 1} | {'b': 2}\nd.update(c=3)\nresult = [d, d.get('z', 0), 'a' in d, d.pop('a')]",
        r#"= [{"b":2,"c":3},0,true,1]"#,
    );
    check(
        "a, b = 1, 2\na, b = b, a\n(c, [d, e]) = (3, [4, 5])\nresult = [a, b, c, d, e]",
        "= [2,1,3,4,5]",
    );
    check("result = [x * y for x in range(3) if x for y in range(2)]", "= [0,1,0,2]");
    check("result = json.decode(json.encode({'a': [1, None, 'é']}))", r#"= {"a":[1,null,"é"]}"#);
}

#[test]
fn numbers_are_rounded_as_in_python() {
    check(
        "result = [round(1.234, 2), round(2.5), round(3.5), round(-0.5), round(7), round(1e20), round(0.1, 0)]",
        "= [1.23,2,4,0,7,100000000000000000000,0.0]",
    );
    check(
        "result = [round(x, -2) for x in [1234, 1250, 1350, -1250, -1251, 50, 51, -49, 0]]",
        "= [1200,1200,1400,-1200,-1300,0,100,0,0]",
    );
    check(
        "result = [round(x, -2) for x in [1234.5, 1250.0, 1250.5, 1350.0, -1250.25, 1e22, 3.0]]",
        "= [1200.0,1200.0,1300.0,1400.0,-1300.0,1e+22,0.0]",
    );
    check(
        "result = [round(5, 2), round(5, -1000000000), round(123456789012345678901234567890, -29), round(-4.0, -400), round(1.5, 1000)]",
        "= [5,0,100000000000000000000000000000,-0.0,1.5]",
    );
    check("result = str(round(float('inf'), -1))", "= \"+inf\"");
    check("round(1.7e308, -308)", "! runtime 1: 1.7e308 rounded is too large for a float");
    check("round('a')", "! runtime 1: `round` needs a number, not a string");
    check("round(float('nan'))", "! runtime 1: `round` cannot round NaN");
}

#[test]
fn a_type_is_not_compared_with_its_name() {
    check(
        "print(1)\nx = type(1) == int",
        "! syntax 2: `type(x)` is a string, and never equal to a type",
    );
    check(
        "if str != type('a'): pass",
        "! syntax 1: `type(x)` is a string, and never equal to a type",
    );
    check("result = type('a') == 'string'", "= true");
}

#[test]
fn a_name_of_the_programs_own_is_no_type() {
    check("def f(list):\n    return type('a') == list\nresult = f('string')", "= true");
    check("str = 'string'\nresult = [type('a') == str, str != type(1)]", "= [true,true]");
    check("type = lambda x: int\nresult = type(1) == int", "= true");
    check(
        "def f(list):\n    return type('a') == dict\nresult = f('string')",
        "! syntax 2: `type(x)` is a string, and never equal to a type",
    );
}

#[test]
fn print_joins_with_spaces_and_keeps_letters() {
    check(
        "print('a', 1, None, True, [1.5, 'x'], {'k': ('t',)})",
        "a 1 None True [1.5, \"x\"] {\"k\": (\"t\",)}\n= ",
    );
    check(
        "print()\nprint('é–😀', ['é–😀', 'a\\n\\t\"\\\\\\x01'])",
        "\né–😀 [\"é–😀\", \"a\\n\\t\\\"\\\\\\x01\"]\n= ",
    );
    check(
        "print('a', 'b', sep='', end='.')\nprint(len, lambda x: x, github, github.get_issue)",
        "ab.len program.lambda <server github> <tool github.get_issue>\n= ",
    );
}

#[test]
fn nothing_is_returned_without_a_result() {
    check("x = 1", "= ");
    check("", "= ");
    check("result = None", "= ");
}

#[test]
fn a_run_sees_nothing_of_another() {
    // b_st_15: two programs sharing globals
    check("shared = 1\nlist_of_all = [1]\nresult = shared", "= 1");
    check("result = shared", "! syntax 1: variable `shared` not found");
}

#[test]
fn habits_of_python_get_a_hint() {
    for (source, hint) in [
        ("import os", "nothing to import"),
        ("from json import loads", "nothing to import"),
        ("try:\n    x = 1\nexcept:\n    pass", "try_call("),
        ("while True:\n    pass", "for _ in range("),
        ("x = 1 is None", "`==`"),
        ("class A:\n    pass", "no classes"),
        ("async def f():\n    pass", "parallel("),
        ("x = await f()", "parallel("),
        ("with open('x') as f:\n    pass", "no `with`"),
        ("raise ValueError('x')", "fail("),
        ("assert 1", "fail("),
        ("x = {}\ndel x['a']", "pop("),
        ("x = null", "`None`"),
        ("x = true", "`True`"),
        ("import re", "nothing to import"),
        ("x = re.findall('a', 'b')", "no regular expressions"),
        ("x = asyncio.gather()", "parallel("),
        ("x = datetime.now()", "no clock"),
        ("open('/etc/passwd')", "no files"),
        ("x = {'a': 1}\nprint(x.a)", "value[\"a\"]"),
        ("x = [{'a': 1}]\nprint(x.a)", "value[0]"),
        ("x = None\nprint(x.a)", "returned nothing"),
        ("x = {'a': 1}\nprint(x['b'])", "value.get("),
        ("x = [1]\nprint(x[3])", "len(value)"),
        ("x = 'a' + 1", "str("),
        ("x = 1 + 'a'", "str("),
        ("n = 1\ndef f():\n    n += 1\nf()", "pass it in and return it"),
        ("x = [1, 2]\nfor i in x:\n    x.append(i)", "list(items)"),
        ("x = 5\nx()", "only functions and tools"),
        ("for i in 5:\n    pass", "type(value)"),
        ("if 1:\n\tx = 1", "spaces"),
        ("def f(n):\n    return f(n + 1)\nf(0)", "loop"),
        ("get_issue(number=1)", "`github.get_issue(…)`"),
        ("githb.get_issue(number=1)", "`github`"),
        ("github.getIssue(number=1)", "`get_issue`"),
        ("x = prnt(1)", "`print`"),
        ("x = unheard_of", "servers are `github`"),
        ("x = 2 ** 8", "there is no `**`"),
        ("x = {**{}}", "`one | other`"),
        ("x = [*[1]]", "`one + other`"),
        ("x = 1.5\ny = f'{x:.2f}'", "round("),
        ("y = '{:.2f}'.format(1.5)", "round("),
        ("y = '%.2f' % 1.5", "round("),
        ("y = sum(x for x in [1])", "`[… for … in …]`"),
        ("y = {1, 2}", "`set([1, 2])`"),
        ("y = f('a' 'b')", "`+`"),
        ("y = 0 < 1 < 2", "`a < b and b < c`"),
        ("for c in 'abc': pass", "text.elems()"),
        ("y = [2, 1]\ny.sort()", "`value = sorted(value)`"),
        ("x = lst([1])", "`list`"),
    ] {
        check_hint(source, hint);
    }
}
