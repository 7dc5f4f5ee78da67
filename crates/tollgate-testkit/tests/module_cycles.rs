//! Sibling modules form no cycles, at any level below the top of a crate, where `tidy.rs` has the
//! layers: a shared type stands in a module below those that use it.

#![expect(clippy::unwrap_used, reason = "the patterns are constants")]

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use tollgate_testkit::sources;

/// The names of modules and items from the root of a crate on.
type ModulePath = Vec<String>;

/// The modules of a crate that are files, with their code.
struct ModuleTree {
    code: BTreeMap<ModulePath, String>,
    /// Names that a module takes from its children, with the child.
    exports: BTreeMap<(ModulePath, String), String>,
}

#[test]
fn sibling_modules_form_no_cycles() {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut count = 0;
    for manifest in sources("crates", "Cargo.toml") {
        let krate = manifest.path.split('/').nth(1).expect("crates/<name>/Cargo.toml");
        let tree = ModuleTree::of_files(&format!("crates/{krate}/src/"));
        count += tree.code.len();
        for (parent, edges) in tree.edges() {
            let cycle = in_cycles(&edges);
            // The modules of the root have layers.
            if !parent.is_empty() && !cycle.is_empty() {
                found.insert(format!("{krate}::{}", parent.join("::")), cycle);
            }
        }
    }
    assert!(count > 800, "the modules are not found any more: {count}");
    assert!(found.is_empty(), "modules in cycles: {found:#?}");
}

/// The scanner is only worth something if it sees every way to write a path.
#[test]
fn cycles_are_found_however_paths_are_written() {
    let cycle_of = |lower: &str, upper: &str| {
        let files = [("a", "mod lower;\nmod upper;\npub use upper::Thing;\n"), ("a/lower", lower)];
        let code = files.into_iter().chain([("a/upper", upper)]);
        let tree =
            ModuleTree::new(code.map(|(path, code)| (module_path(path), without_tests(code))));
        let edges = tree.edges();
        edges.get(&module_path("a")).map(in_cycles).unwrap_or_default().into_iter().collect()
    };
    let both: Vec<String> = vec!["lower".to_owned(), "upper".to_owned()];
    for lower in [
        "use super::upper::Thing;",
        "use super::upper;",
        "use super::{other, upper::{self, Thing}};",
        "use super::Thing as It;",
        "use crate::a::upper::Thing;",
        "use crate::{a::{Thing}, b};",
        "fn f() { super::upper::run(); }",
    ] {
        let found: Vec<String> = cycle_of(lower, "use super::lower::Other;");
        assert_eq!(found, both, "{lower}");
    }
    for lower in ["use super::Parent;", "use crate::b::upper;", "// super::upper", "use std::fmt;"]
    {
        let found: Vec<String> = cycle_of(lower, "use super::lower::Other;");
        assert!(found.is_empty(), "{lower}: {found:?}");
    }
}

impl ModuleTree {
    fn of_files(folder: &str) -> Self {
        let files = sources(folder, ".rs");
        let files = files.into_iter().filter(|source| !source.path.ends_with("tests.rs"));
        let files = files.filter(|source| !source.path.contains("/tests/"));
        let code = files.map(|source| {
            let inside = source.path.strip_prefix(folder).expect("it was found there");
            (module_path(inside.trim_end_matches(".rs")), without_tests(&source.text))
        });
        Self::new(code)
    }

    fn new(code: impl Iterator<Item = (ModulePath, String)>) -> Self {
        let code: BTreeMap<ModulePath, String> = code.collect();
        let export = Regex::new(r"pub(?:\([^)]*\))? use ([^;]+);").unwrap();
        let mut exports = BTreeMap::new();
        for (module, text) in &code {
            for taken in export.captures_iter(text) {
                for path in paths(&taken[1]) {
                    let path = path.strip_prefix(&["self".to_owned()][..]).unwrap_or(&path);
                    let [child, .., name] = path else { continue };
                    if code.contains_key(&join(module, child)) {
                        exports.insert((module.clone(), name.clone()), child.clone());
                    }
                }
            }
        }
        Self { code, exports }
    }

    /// Which child names which, by their parent.
    fn edges(&self) -> BTreeMap<ModulePath, BTreeSet<(String, String)>> {
        let start = Regex::new(r"(?:^|[^\w:])((?:crate|super|self)::)").unwrap();
        let mut edges: BTreeMap<ModulePath, BTreeSet<(String, String)>> = BTreeMap::new();
        for (module, text) in &self.code {
            for at in start.captures_iter(text).filter_map(|it| it.get(1)) {
                for path in paths(&text[at.start()..]) {
                    let named = self.resolve(module, &path);
                    let common = module.iter().zip(&named).take_while(|(a, b)| a == b).count();
                    if let (Some(from), Some(to)) = (module.get(common), named.get(common)) {
                        let parent = module[..common].to_vec();
                        edges.entry(parent).or_default().insert((from.clone(), to.clone()));
                    }
                }
            }
        }
        edges
    }

    /// The module that a path in `module` leads to, or leads into.
    fn resolve(&self, module: &[String], path: &[String]) -> ModulePath {
        let mut at = if path[0] == "crate" { Vec::new() } else { module.to_vec() };
        for name in path {
            match name.as_str() {
                "crate" | "self" => {}
                "super" => drop(at.pop()),
                _ if self.code.contains_key(&join(&at, name)) => at.push(name.clone()),
                _ => match self.exports.get(&(at.clone(), name.clone())) {
                    Some(child) => at.push(child.clone()),
                    None => return at,
                },
            }
        }
        at
    }
}

/// `a/b` is the module `a::b`; the root of a crate is empty.
fn module_path(file: &str) -> ModulePath {
    let names = file.split('/').filter(|name| !["lib", "main", "mod"].contains(name));
    names.map(str::to_owned).collect()
}

fn join(module: &[String], name: &str) -> ModulePath {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

/// Without comments, and without tests at the end of a file.
fn without_tests(text: &str) -> String {
    let shipped = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let uncommented = shipped.lines().map(|line| line.split("//").next().unwrap_or_default());
    uncommented.collect::<Vec<_>>().join("\n")
}

/// All paths of a tree of names: `a::{b, c::{self, d}}` has three.
fn paths(text: &str) -> Vec<ModulePath> {
    let mut found = Vec::new();
    PathReader { rest: text, found: &mut found }.tree(&[]);
    found
}

struct PathReader<'t> {
    rest: &'t str,
    found: &'t mut Vec<ModulePath>,
}

impl PathReader<'_> {
    fn tree(&mut self, prefix: &[String]) {
        let mut path = prefix.to_vec();
        loop {
            self.rest = self.rest.trim_start();
            if self.eat("{") {
                return self.group(&path);
            }
            let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '*';
            let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
            let (word, rest) = self.rest.split_at(end);
            if word.is_empty() {
                break;
            }
            self.rest = rest;
            path.push(word.to_owned());
            if !self.eat("::") {
                break;
            }
        }
        self.found.push(path);
    }

    fn group(&mut self, prefix: &[String]) {
        while !self.rest.is_empty() && !self.eat("}") {
            let before = self.rest.len();
            self.tree(prefix);
            // An alias is no path.
            let end = self.rest.find([',', '}']).unwrap_or(self.rest.len());
            self.rest = &self.rest[end..];
            self.eat(",");
            self.rest = self.rest.trim_start();
            if self.rest.len() == before {
                return;
            }
        }
    }

    fn eat(&mut self, token: &str) -> bool {
        let after = self.rest.strip_prefix(token);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }
}

/// Those that lead back to themselves.
fn in_cycles(edges: &BTreeSet<(String, String)>) -> BTreeSet<String> {
    let leads_back = |start: &String| {
        let mut seen = BTreeSet::new();
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            for (_, to) in edges.iter().filter(|(from, _)| from == at) {
                if to == start {
                    return true;
                }
                if seen.insert(to) {
                    open.push(to);
                }
            }
        }
        false
    };
    edges.iter().map(|(from, _)| from).filter(|it| leads_back(it)).cloned().collect()
}
