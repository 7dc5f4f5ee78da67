//! Programs by the grammar, most of them right: those that are wrong at once find little.

use std::fmt::Write as _;

/// The same numbers for the same seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        // Neighbouring seeds must not begin alike.
        let mut dice = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        dice.next();
        dice.next();
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub(crate) fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next() >> 33).expect("31 bits") % most.max(1)
    }

    pub(crate) fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

#[rustfmt::skip]
const VALUES: &[&str] = &[
    "0", "1", "-1", "2", "7", "100", "2147483647", "-2147483648", "9223372036854775808",
    "1 << 70", "0.0", "-0.0", "1.5", "1e308", "float('inf')", "float('nan')", "None", "True",
    "False", "''", "'a'", "'é😀'", "'a,b c'", "'{}'", "'%s'", "'%d%%'", "b'x'", "[]", "[1, 2, 3]",
    "['a', None]", "[[]]", "()", "(1,)", "(1, 'b')", "{}", "{'a': 1}", "{1: [2]}",
    "{'k': {'v': None}}", "set([1, 2])", "range(5)", "range(3, -3, -2)", "struct(a=1, b=[])",
    "len", "str", "print", "lambda *a, **k: a", "lambda x: x", "github", "github.get_issue",
    "echo.value", "echo.fail", "json", "typing.Any",
];
#[rustfmt::skip]
const FUNCTIONS: &[&str] = &[
    "abs", "all", "any", "bool", "chr", "dict", "dir", "enumerate", "float", "getattr", "hasattr",
    "hash", "int", "len", "list", "max", "min", "ord", "print", "range", "repr", "reversed",
    "set", "sorted", "str", "struct", "sum", "tuple", "type", "zip", "map", "filter", "partial",
    "isinstance", "fail", "bytes", "json.encode", "json.decode", "try_call", "parallel",
    "echo.value", "echo.all", "echo.json", "echo.fail", "slack.post", "github.get_issue", "a",
    "b", "f", "g",
];
#[rustfmt::skip]
const METHODS: &[&str] = &[
    "append", "capitalize", "clear", "codepoints", "count", "elems", "endswith", "extend", "find",
    "format", "get", "index", "insert", "isalnum", "isalpha", "isdigit", "islower", "isspace",
    "istitle", "isupper", "items", "join", "keys", "lower", "lstrip", "partition", "pop",
    "popitem", "remove", "removeprefix", "removesuffix", "replace", "rfind", "rindex",
    "rpartition", "rsplit", "rstrip", "setdefault", "split", "splitlines", "startswith", "strip",
    "title", "update", "upper", "values", "add", "union", "difference", "intersection",
    "symmetric_difference", "discard", "issubset", "post", "ok", "value",
];
#[rustfmt::skip]
const OPERATORS: &[&str] = &[
    "+", "-", "*", "/", "//", "%", "==", "!=", "<", ">", "<=", ">=", "in", "not in", "and", "or",
    "&", "|", "^", "<<", ">>",
];
const CHANGES: &[&str] = &["=", "=", "=", "+=", "-=", "*=", "/=", "//=", "%=", "|=", "&=", "^="];

/// Values of one kind, by the names that hold them; most operations want a certain one.
#[derive(Clone, Copy, PartialEq)]
enum Type {
    Number,
    Text,
    List,
    Dict,
    Any,
}

const TYPES: [Type; 5] = [Type::Number, Type::Text, Type::List, Type::Dict, Type::Any];

/// A program of a few statements.
pub(crate) fn program(dice: &mut Dice) -> String {
    let text = "n = 3\nm = -7\ns = 'text'\nt = 'é😀,b'\nl = [1, 2, 3]\nk = ['a', None]\nd = {'a': 1}\ne = {}\nx = None\ny = (1, 'b')\nf = lambda x: x\n";
    let mut program = Program { dice, text: text.to_owned(), loops: 0, functions: 0 };
    for _ in 0..=program.dice.below(4) {
        program.statement(0);
    }
    let result = program.expression(Type::Any, 1);
    let _ = writeln!(program.text, "result = {result}");
    program.text
}

struct Program<'a> {
    dice: &'a mut Dice,
    text: String,
    /// Around the statement that is written.
    loops: usize,
    functions: usize,
}

impl Program<'_> {
    fn statement(&mut self, depth: usize) {
        let indent = "    ".repeat(depth);
        self.text.push_str(&indent);
        match self.dice.below(if depth < 3 { 11 } else { 6 }) {
            0..=2 => self.assignment(),
            3 => {
                let call = self.call(0);
                let _ = writeln!(self.text, "{call}");
            }
            4 => {
                let value = self.expression(Type::Any, 0);
                let _ = writeln!(self.text, "print({value})");
            }
            5 => {
                let word = match self.dice.below(3) {
                    0 if self.loops > 0 => self.dice.pick(&["break", "continue"]),
                    1 if self.functions > 0 => self.dice.pick(&["return x", "return [n, s]"]),
                    _ => "pass",
                };
                let _ = writeln!(self.text, "{word}");
            }
            6 | 7 => {
                let over = self.expression(Type::List, 1);
                let _ = writeln!(
                    self.text,
                    "for {} in {over}:",
                    self.dice.pick(&["x", "y", "n", "(x, y)"])
                );
                self.loops += 1;
                self.block(depth + 1);
                self.loops -= 1;
            }
            8 | 9 => {
                let condition = self.expression(Type::Any, 1);
                let _ = writeln!(self.text, "if {condition}:");
                self.block(depth + 1);
                if self.dice.below(2) == 0 {
                    let _ = writeln!(self.text, "{indent}else:");
                    self.block(depth + 1);
                }
            }
            _ => {
                let parameters = self.dice.pick(&[
                    "",
                    "x",
                    "x, y=1",
                    "*x",
                    "x, **y",
                    "x: int",
                    "*, x=1",
                    "x, /, y=2",
                ]);
                let _ = writeln!(self.text, "def f({parameters}):");
                let loops = std::mem::take(&mut self.loops);
                self.functions += 1;
                self.block(depth + 1);
                self.functions -= 1;
                self.loops = loops;
            }
        }
    }

    fn block(&mut self, depth: usize) {
        for _ in 0..=self.dice.below(3) {
            self.statement(depth);
        }
    }

    fn assignment(&mut self) {
        let of = TYPES[self.dice.below(5)];
        let value = self.expression(of, 0);
        let name = self.name(of);
        let line = match self.dice.below(10) {
            0 => format!("{name}[{}] = {value}", self.expression(Type::Any, 2)),
            1 => format!("(x, y) = {}", self.expression(Type::List, 1)),
            2 => format!("{name}.{} = {value}", self.dice.pick(METHODS)),
            // In functions a name is one of their own then, without a value.
            3 | 4 if self.functions == 0 => format!("{name} {} {value}", self.dice.pick(CHANGES)),
            _ => format!("{name} = {value}"),
        };
        let _ = writeln!(self.text, "{line}");
    }

    fn name(&mut self, of: Type) -> &'static str {
        match of {
            Type::Number => self.dice.pick(&["n", "m"]),
            Type::Text => self.dice.pick(&["s", "t"]),
            Type::List => self.dice.pick(&["l", "k"]),
            Type::Dict => self.dice.pick(&["d", "e"]),
            Type::Any => self.dice.pick(&["x", "y"]),
        }
    }

    /// Now and then of another kind than was asked for.
    fn expression(&mut self, of: Type, depth: usize) -> String {
        let of = match self.dice.below(15) {
            0 => TYPES[self.dice.below(5)],
            _ => of,
        };
        if depth > 3 || self.dice.below(3) == 0 {
            return self.name(of).to_owned();
        }
        let deeper = depth + 1;
        match of {
            Type::Number => self.number(deeper),
            Type::Text => self.string(deeper),
            Type::List => self.list(deeper),
            Type::Dict => self.dict(deeper),
            Type::Any => self.any(deeper),
        }
    }

    fn number(&mut self, depth: usize) -> String {
        match self.dice.below(6) {
            0 => self
                .dice
                .pick(&[
                    "0",
                    "1",
                    "-1",
                    "5",
                    "2147483647",
                    "9223372036854775808",
                    "1.5",
                    "-0.0",
                    "1e308",
                    "(1 << 70)",
                ])
                .to_owned(),
            1 => format!("len({})", self.expression(Type::List, depth)),
            2 => format!(
                "{}({})",
                self.dice.pick(&["int", "float", "abs", "sum", "min", "max", "ord", "hash"]),
                self.expression(Type::Any, depth)
            ),
            3 => format!(
                "{}.{}({})",
                self.expression(Type::Text, depth),
                self.dice.pick(&["find", "count", "index", "rfind"]),
                self.expression(Type::Text, depth)
            ),
            _ => {
                let operator =
                    self.dice.pick(&["+", "-", "*", "//", "%", "/", "&", "|", "^", ">>", "<<"]);
                format!(
                    "({} {operator} {})",
                    self.expression(Type::Number, depth),
                    self.expression(Type::Number, depth)
                )
            }
        }
    }

    fn string(&mut self, depth: usize) -> String {
        match self.dice.below(9) {
            0 => self
                .dice
                .pick(&[
                    "''",
                    "'a'",
                    "'é😀'",
                    "'a,b c'",
                    "'{}{x}'",
                    "'%s-%d'",
                    "'\\n\\t'",
                    "'1.5'",
                    "'[1, {}]'",
                ])
                .to_owned(),
            1 => format!(
                "{}({})",
                self.dice.pick(&["str", "repr", "type", "json.encode"]),
                self.expression(Type::Any, depth)
            ),
            2 => format!(
                "({} + {})",
                self.expression(Type::Text, depth),
                self.expression(Type::Text, depth)
            ),
            3 => format!(
                "({} % {})",
                self.expression(Type::Text, depth),
                self.expression(Type::Any, depth)
            ),
            4 => {
                format!("{}.format({})", self.expression(Type::Text, depth), self.arguments(depth))
            }
            5 => format!("f'{{{}}} {{{}!r}}'", self.name(Type::Any), self.name(Type::List)),
            6 => format!(
                "{}.join({})",
                self.expression(Type::Text, depth),
                self.expression(Type::List, depth)
            ),
            7 => self.slice(Type::Text, depth),
            _ => format!(
                "{}.{}({})",
                self.expression(Type::Text, depth),
                self.dice.pick(METHODS),
                self.arguments(depth)
            ),
        }
    }

    fn list(&mut self, depth: usize) -> String {
        match self.dice.below(10) {
            0 => self
                .dice
                .pick(&[
                    "[]",
                    "[[]]",
                    "(1,)",
                    "range(5)",
                    "range(3, -3, -2)",
                    "set([1, 2])",
                    "list('ab'.elems())",
                ])
                .to_owned(),
            1 => format!(
                "[{}, {}]",
                self.expression(Type::Any, depth),
                self.expression(Type::Number, depth)
            ),
            2 => format!(
                "({} + {})",
                self.expression(Type::List, depth),
                self.expression(Type::List, depth)
            ),
            3 => self.slice(Type::List, depth),
            4 => format!(
                "[{} for x in {} if {}]",
                self.expression(Type::Any, depth),
                self.expression(Type::List, depth),
                self.expression(Type::Any, depth)
            ),
            5 => format!(
                "{}({})",
                self.dice.pick(&[
                    "sorted",
                    "reversed",
                    "list",
                    "tuple",
                    "set",
                    "enumerate",
                    "zip",
                    "dir"
                ]),
                self.expression(Type::List, depth)
            ),
            6 => format!(
                "{}(lambda x: {}, {})",
                self.dice.pick(&["map", "filter"]),
                self.expression(Type::Any, depth),
                self.expression(Type::List, depth)
            ),
            7 => format!(
                "{}.{}()",
                self.expression(Type::Dict, depth),
                self.dice.pick(&["keys", "values", "items"])
            ),
            8 => format!(
                "parallel([(echo.value, {}), (slack.post, {})])",
                self.expression(Type::Dict, depth),
                self.expression(Type::Dict, depth)
            ),
            _ => format!(
                "{}.{}({})",
                self.expression(Type::Text, depth),
                self.dice.pick(&[
                    "split",
                    "rsplit",
                    "splitlines",
                    "partition",
                    "elems",
                    "codepoints"
                ]),
                self.arguments(depth)
            ),
        }
    }

    fn dict(&mut self, depth: usize) -> String {
        match self.dice.below(6) {
            0 => self
                .dice
                .pick(&["{}", "{'a': 1}", "{1: [2]}", "{'k': {'v': None}}", "{(1, 2): 3}"])
                .to_owned(),
            1 => format!(
                "{{{}: {}}}",
                self.expression(Type::Text, depth),
                self.expression(Type::Any, depth)
            ),
            2 => format!(
                "({} | {})",
                self.expression(Type::Dict, depth),
                self.expression(Type::Dict, depth)
            ),
            3 => format!(
                "{{x: {} for x in {}}}",
                self.expression(Type::Any, depth),
                self.expression(Type::List, depth)
            ),
            4 => format!("dict({})", self.arguments(depth)),
            _ => format!("echo.all({})", self.arguments(depth)),
        }
    }

    fn any(&mut self, depth: usize) -> String {
        match self.dice.below(10) {
            0 => format!("({})", self.dice.pick(VALUES)),
            1 => self.call(depth),
            2 => format!(
                "{}[{}]",
                self.expression(Type::List, depth),
                self.expression(Type::Number, depth)
            ),
            3 => format!(
                "{}[{}]",
                self.expression(Type::Dict, depth),
                self.expression(Type::Text, depth)
            ),
            4 => format!(
                "{}.get({}, 1)",
                self.expression(Type::Dict, depth),
                self.expression(Type::Text, depth)
            ),
            5 => format!(
                "({} {} {})",
                self.expression(Type::Any, depth),
                self.dice.pick(OPERATORS),
                self.expression(Type::Any, depth)
            ),
            6 => format!(
                "({} if {} else {})",
                self.expression(Type::Any, depth),
                self.expression(Type::Number, depth),
                self.expression(Type::List, depth)
            ),
            7 => format!("json.decode({})", self.expression(Type::Text, depth)),
            8 => format!(
                "try_call(echo.{}, {})",
                self.dice.pick(&["value", "all", "json", "fail"]),
                self.expression(Type::Any, depth)
            ),
            _ => {
                let of = TYPES[self.dice.below(4)];
                self.expression(of, depth)
            }
        }
    }

    fn slice(&mut self, of: Type, depth: usize) -> String {
        let [from, to] = [(); 2].map(|()| self.expression(Type::Number, depth));
        format!(
            "{}[{from}:{to}:{}]",
            self.expression(of, depth),
            self.dice.pick(&["", "1", "-1", "2", "0"])
        )
    }

    fn call(&mut self, depth: usize) -> String {
        match self.dice.below(3) {
            0 => {
                let of = TYPES[self.dice.below(5)];
                format!(
                    "{}.{}({})",
                    self.name(of),
                    self.dice.pick(METHODS),
                    self.arguments(depth + 1)
                )
            }
            _ => format!("{}({})", self.dice.pick(FUNCTIONS), self.arguments(depth + 1)),
        }
    }

    fn arguments(&mut self, depth: usize) -> String {
        let mut arguments = Vec::new();
        for _ in 0..self.dice.below(4) {
            let of = TYPES[self.dice.below(5)];
            arguments.push(self.expression(of, depth));
        }
        match self.dice.below(8) {
            0 => arguments.push(format!(
                "{}={}",
                self.dice.pick(&["key", "x", "a", "v", "default", "reverse", "start", "sep"]),
                self.name(Type::Any)
            )),
            1 => arguments.push(format!("*{}", self.name(Type::List))),
            2 => arguments.push(format!("**{}", self.name(Type::Dict))),
            _ => {}
        }
        arguments.join(", ")
    }
}
