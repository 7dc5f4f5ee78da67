//! The nesting depth of a program: an upper bound of the depth of its syntax tree. Brackets nest;
//! so do chains of operators, calls of calls, and `elif` after `elif`.

use super::lexer::{SourceLexer, SourceToken};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NestingProblem {
    TooDeep(DepthCause),
    Tab,
    Odd(char),
}

/// The main cause of the depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DepthCause {
    Brackets,
    Operators,
    Blocks,
    Branches,
}

/// The first problem and its position.
pub(super) fn look(source: &str, most: usize) -> Result<(), (usize, NestingProblem)> {
    let mut lexer = SourceLexer::new(source);
    let mut nesting = Nesting::new();
    while let Some((at, token)) = lexer.next() {
        match token {
            SourceToken::Tab => return Err((at, NestingProblem::Tab)),
            SourceToken::Odd(character) => return Err((at, NestingProblem::Odd(character))),
            token => nesting.pass(token),
        }
        if nesting.depth() > most {
            return Err((at, NestingProblem::TooDeep(nesting.deepest())));
        }
    }
    Ok(())
}

struct Nesting {
    blocks: Vec<IndentBlock>,
    levels: Vec<BracketLevel>,
    /// Sum over all levels.
    chains: usize,
    /// Sum over all blocks.
    branches: usize,
    before: PrecedingToken,
}

struct IndentBlock {
    column: usize,
    branches: usize,
}

/// The content of one pair of brackets.
#[derive(Default)]
struct BracketLevel {
    /// Links of the chain since the last comma.
    chain: usize,
    /// Clauses of a comprehension: its commas do not end it.
    clauses: usize,
    /// Lambdas whose parameter list has not ended.
    lambdas: usize,
    opens: BracketUse,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum BracketUse {
    /// A parenthesized value, list or dict.
    #[default]
    Value,
    /// A call or an index: one more link once it is closed.
    Link,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PrecedingToken {
    /// A complete operand: a bracket after it is a call or an index.
    Operand,
    Line,
    Other,
}

impl Nesting {
    fn new() -> Self {
        Self {
            blocks: vec![IndentBlock { column: 0, branches: 0 }],
            levels: vec![BracketLevel::default()],
            chains: 0,
            branches: 0,
            before: PrecedingToken::Line,
        }
    }

    fn depth(&self) -> usize {
        self.levels.len() - 1 + self.chains + self.blocks.len() - 1 + self.branches
    }

    fn deepest(&self) -> DepthCause {
        let parts = [
            (self.levels.len() - 1, DepthCause::Brackets),
            (self.chains, DepthCause::Operators),
            (self.blocks.len() - 1, DepthCause::Blocks),
            (self.branches, DepthCause::Branches),
        ];
        parts
            .into_iter()
            .max_by_key(|(count, _)| *count)
            .map_or(DepthCause::Operators, |(_, it)| it)
    }

    fn pass(&mut self, token: SourceToken<'_>) {
        let goes_on = matches!(token, SourceToken::Word("elif" | "else"));
        if self.before == PrecedingToken::Line && !goes_on {
            self.end_branches();
        }
        self.before = match token {
            SourceToken::Line { column } => {
                self.line(column);
                PrecedingToken::Line
            }
            SourceToken::Word(word) => self.word(word),
            SourceToken::Literal => PrecedingToken::Operand,
            SourceToken::Open => {
                let opens = if self.before == PrecedingToken::Operand {
                    BracketUse::Link
                } else {
                    BracketUse::Value
                };
                self.levels.push(BracketLevel { opens, ..BracketLevel::default() });
                PrecedingToken::Other
            }
            SourceToken::Hole => {
                self.levels.push(BracketLevel::default());
                PrecedingToken::Other
            }
            SourceToken::Close => {
                self.close();
                PrecedingToken::Operand
            }
            SourceToken::Comma => {
                if self.level().lambdas == 0 {
                    self.unlink();
                }
                PrecedingToken::Other
            }
            SourceToken::Semicolon => {
                self.unlink();
                PrecedingToken::Other
            }
            SourceToken::Colon => {
                let level = self.level();
                level.lambdas = level.lambdas.saturating_sub(1);
                PrecedingToken::Other
            }
            SourceToken::Operator => {
                self.link();
                PrecedingToken::Other
            }
            SourceToken::Other | SourceToken::Tab | SourceToken::Odd(_) => PrecedingToken::Other,
        };
    }

    fn word(&mut self, word: &str) -> PrecedingToken {
        match word {
            "elif" => {
                self.branches += 1;
                if let Some(block) = self.blocks.last_mut() {
                    block.branches += 1;
                }
            }
            "else" if self.before == PrecedingToken::Line => {}
            "for" => self.clause(),
            "if" if self.level().clauses > 0 => self.clause(),
            "and" | "or" | "not" | "in" | "if" | "else" => self.link(),
            "lambda" => {
                self.link();
                self.level().lambdas += 1;
            }
            "return" | "def" | "load" => {}
            _ => return PrecedingToken::Operand,
        }
        PrecedingToken::Other
    }

    fn line(&mut self, column: usize) {
        self.unlink();
        self.chains -= self.level().clauses;
        *self.level() = BracketLevel::default();
        while self.blocks.len() > 1 && self.blocks.last().is_some_and(|it| column < it.column) {
            self.end_branches();
            self.blocks.pop();
        }
        if self.blocks.last().is_some_and(|block| column > block.column) {
            self.blocks.push(IndentBlock { column, branches: 0 });
        }
    }

    fn end_branches(&mut self) {
        if let Some(block) = self.blocks.last_mut() {
            self.branches -= block.branches;
            block.branches = 0;
        }
    }

    fn close(&mut self) {
        // The lowest level is outside of all brackets; the lexer pairs the others.
        if self.levels.len() > 1
            && let Some(level) = self.levels.pop()
        {
            self.chains -= level.chain + level.clauses;
            if level.opens == BracketUse::Link {
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

    fn level(&mut self) -> &mut BracketLevel {
        self.levels.last_mut().expect("the lowest level is never closed")
    }
}
