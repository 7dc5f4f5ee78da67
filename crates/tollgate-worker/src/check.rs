//! Static checks of a program before it runs: reports an unknown tool before any other was called,
//! and a comparison that is never true.
//!
//! Pure. A server that is used through another name is checked only at run time.

use std::collections::HashSet;

use starlark::ErrorKind;
use starlark::syntax::AstModule;
use starlark::syntax::ast::{
    AssignTarget, AstExpr, AstParameter, AstStmt, BinOp, Clause, Expr, Stmt,
};
use tollgate_sandbox::frames::{Names, ProgramErrorKind};

use crate::failure::ProgramStopError;
use crate::hints::missing_tool;

pub(crate) fn check(program: &AstModule, names: &Names) -> starlark::Result<()> {
    let own = ProgramDefinitions::of(program.statement());
    let mut wrong = None;
    each(program.statement(), &mut |expression| {
        if wrong.is_none()
            && let Expr::Op(one, BinOp::Equal | BinOp::NotEqual, other) = &expression.node
            && (own.is_type_of(one) && own.is_type(other)
                || own.is_type(one) && own.is_type_of(other))
        {
            wrong = Some((never_equal(), expression.span));
        }
        if let Expr::Dot(of, tool) = &expression.node
            && let Expr::Identifier(server) = &of.node
            && wrong.is_none()
            && !own.0.contains(server.node.ident.as_str())
            && let Some((server, tools)) = names.iter().find(|it| it.0 == server.node.ident)
            && !tools.contains(&tool.node)
        {
            wrong = Some((missing(server, tools, &tool.node), tool.span));
        }
    });
    let Some((stop, span)) = wrong else { return Ok(()) };
    let mut error = starlark::Error::new_kind(ErrorKind::Native(stop.into()));
    error.set_span(span, &program.file_span(span).file);
    Err(error)
}

fn missing(server: &str, tools: &[String], tool: &str) -> ProgramStopError {
    let message = format!("`{server}` has no tool `{tool}`");
    ProgramStopError::new(ProgramErrorKind::Syntax, message, missing_tool(tool, tools))
}

/// `type(x)` is a string here; comparing it with a type is always false, which nobody would notice.
fn never_equal() -> ProgramStopError {
    ProgramStopError::new(
        ProgramErrorKind::Syntax,
        "`type(x)` is a string, and never equal to a type",
        "write `isinstance(x, str)`, or compare with the type's name: `type(x) == \"string\"`",
    )
}

/// Visits every expression, including nested ones.
fn each<'a>(statement: &'a AstStmt, seen: &mut impl FnMut(&'a AstExpr)) {
    fn within<'a>(expression: &'a AstExpr, seen: &mut impl FnMut(&'a AstExpr)) {
        seen(expression);
        expression.visit_expr(|inner| within(inner, seen));
    }
    statement.visit_expr(|expression| within(expression, seen));
}

/// Names that the program defines anywhere.
#[derive(Default)]
struct ProgramDefinitions<'a>(HashSet<&'a str>);

impl<'a> ProgramDefinitions<'a> {
    fn of(program: &'a AstStmt) -> Self {
        let mut own = Self::default();
        own.statement(program);
        each(program, &mut |expression| own.expression(expression));
        own
    }

    fn is_type_of(&self, expression: &AstExpr) -> bool {
        matches!(&expression.node, Expr::Call(function, _) if self.is_usual(function, &["type"]))
    }

    fn is_type(&self, expression: &AstExpr) -> bool {
        self.is_usual(expression, &["str", "int", "float", "bool", "list", "dict", "tuple", "set"])
    }

    /// Whether it is one of these names and not redefined.
    fn is_usual(&self, expression: &AstExpr, names: &[&str]) -> bool {
        let Expr::Identifier(name) = &expression.node else { return false };
        let name = name.node.ident.as_str();
        names.contains(&name) && !self.0.contains(name)
    }

    fn statement(&mut self, statement: &'a AstStmt) {
        match &statement.node {
            Stmt::Assign(assign) => self.target(&assign.lhs.node),
            Stmt::For(each) => self.target(&each.var.node),
            Stmt::Def(def) => {
                self.0.insert(&def.name.node.ident);
                self.parameters(&def.params);
            }
            _ => {}
        }
        statement.visit_stmt(|inner| self.statement(inner));
    }

    fn expression(&mut self, expression: &'a AstExpr) {
        match &expression.node {
            Expr::Lambda(lambda) => self.parameters(&lambda.params),
            Expr::ListComprehension(_, first, clauses)
            | Expr::DictComprehension(_, first, clauses) => {
                self.target(&first.var.node);
                for clause in clauses {
                    if let Clause::For(each) = clause {
                        self.target(&each.var.node);
                    }
                }
            }
            _ => {}
        }
    }

    fn target(&mut self, target: &'a AssignTarget) {
        target.visit_lvalue(|name| {
            self.0.insert(&name.node.ident);
        });
    }

    fn parameters(&mut self, parameters: &'a [AstParameter]) {
        self.0
            .extend(parameters.iter().filter_map(|it| Some(it.node.ident()?.node.ident.as_str())));
    }
}
