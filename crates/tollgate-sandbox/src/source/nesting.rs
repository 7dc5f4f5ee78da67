//! How deep a program's parts stand within each other: an upper bound of how deep an interpreter's
//! tree of it becomes. Brackets nest; so do chains of operators, calls of calls, `elif` after `elif`.

use super::lexer::{Lexer, Token};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    TooDeep(Deep),
    Tab,
    Odd(char),
}

/// What most of the depth is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deep {
    Brackets,
    Operators,
    Blocks,
    Branches,
}

/// The first thing that is wrong, and where.
pub(super) fn look(source: &str, most: usize) -> Result<(), (usize, Found)> {
    let mut lexer = Lexer::new(source);
    let mut nesting = Nesting::new();
    while let Some((at, token)) = lexer.next() {
        match token {
            Token::Tab => return Err((at, Found::Tab)),
            Token::Odd(character) => return Err((at, Found::Odd(character))),
            token => nesting.pass(token),
        }
        if nesting.depth() > most {
            return Err((at, Found::TooDeep(nesting.deepest())));
        }
    }
    Ok(())
}

struct Nesting {
    blocks: Vec<Block>,
    levels: Vec<Level>,
    /// Of all levels.
    chains: usize,
    /// Of all blocks.
    branches: usize,
    before: Before,
}

struct Block {
    column: usize,
    branches: usize,
}

/// Between two brackets.
#[derive(Default)]
struct Level {
    /// Links since the last comma.
    chain: usize,
    /// Of a comprehension: its commas do not end it.
    clauses: usize,
    /// Lambdas whose arguments have not ended.
    lambdas: usize,
    opens: Opens,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Opens {
    /// A value of its own.
    #[default]
    Value,
    /// A call or an index: one more link once it is closed.
    Link,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A whole operand: a bracket after it is a call or an index.
    Operand,
    Line,
    Other,
}

impl Nesting {
    fn new() -> Self {
        Self {
            blocks: vec![Block { column: 0, branches: 0 }],
            levels: vec![Level::default()],
            chains: 0,
            branches: 0,
            before: Before::Line,
        }
    }

    fn depth(&self) -> usize {
        self.levels.len() - 1 + self.chains + self.blocks.len() - 1 + self.branches
    }

    fn deepest(&self) -> Deep {
        let parts = [
            (self.levels.len() - 1, Deep::Brackets),
            (self.chains, Deep::Operators),
            (self.blocks.len() - 1, Deep::Blocks),
            (self.branches, Deep::Branches),
        ];
        parts.into_iter().max_by_key(|(count, _)| *count).map_or(Deep::Operators, |(_, it)| it)
    }

    fn pass(&mut self, token: Token<'_>) {
        let goes_on = matches!(token, Token::Word("elif" | "else"));
        if self.before == Before::Line && !goes_on {
            self.end_branches();
        }
        self.before = match token {
            Token::Line { column } => {
                self.line(column);
                Before::Line
            }
            Token::Word(word) => self.word(word),
            Token::Literal => Before::Operand,
            Token::Open => {
                let opens = if self.before == Before::Operand { Opens::Link } else { Opens::Value };
                self.levels.push(Level { opens, ..Level::default() });
                Before::Other
            }
            Token::Hole => {
                self.levels.push(Level::default());
                Before::Other
            }
            Token::Close => {
                self.close();
                Before::Operand
            }
            Token::Comma => {
                if self.level().lambdas == 0 {
                    self.unlink();
                }
                Before::Other
            }
            Token::Semicolon => {
                self.unlink();
                Before::Other
            }
            Token::Colon => {
                let level = self.level();
                level.lambdas = level.lambdas.saturating_sub(1);
                Before::Other
            }
            Token::Operator => {
                self.link();
                Before::Other
            }
            Token::Other | Token::Tab | Token::Odd(_) => Before::Other,
        };
    }

    fn word(&mut self, word: &str) -> Before {
        match word {
            "elif" => {
                self.branches += 1;
                if let Some(block) = self.blocks.last_mut() {
                    block.branches += 1;
                }
            }
            "else" if self.before == Before::Line => {}
            "for" => self.clause(),
            "if" if self.level().clauses > 0 => self.clause(),
            "and" | "or" | "not" | "in" | "if" | "else" => self.link(),
            "lambda" => {
                self.link();
                self.level().lambdas += 1;
            }
            "return" | "def" | "load" => {}
            _ => return Before::Operand,
        }
        Before::Other
    }

    fn line(&mut self, column: usize) {
        self.unlink();
        self.chains -= self.level().clauses;
        *self.level() = Level::default();
        while self.blocks.len() > 1 && self.blocks.last().is_some_and(|it| column < it.column) {
            self.end_branches();
            self.blocks.pop();
        }
        if self.blocks.last().is_some_and(|block| column > block.column) {
            self.blocks.push(Block { column, branches: 0 });
        }
    }

    fn end_branches(&mut self) {
        if let Some(block) = self.blocks.last_mut() {
            self.branches -= block.branches;
            block.branches = 0;
        }
    }

    fn close(&mut self) {
        // The lowest one is no bracket's; the lexer pairs the others.
        if self.levels.len() > 1
            && let Some(level) = self.levels.pop()
        {
            self.chains -= level.chain + level.clauses;
            if level.opens == Opens::Link {
                self.link();
            }
        }
    }

    fn link(&mut self) {
        self.level().chain += 1;
        self.chains += 1;
    }

    fn clause(&mut self) {
        self.level().clauses += 1;
        self.chains += 1;
    }

    fn unlink(&mut self) {
        let chain = std::mem::take(&mut self.level().chain);
        self.chains -= chain;
    }

    fn level(&mut self) -> &mut Level {
        self.levels.last_mut().expect("the lowest level is never closed")
    }
}
