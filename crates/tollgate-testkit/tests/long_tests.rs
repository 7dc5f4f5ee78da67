//! Tests that have a long form (soak) run in it: the profile that `make soak` uses picks exactly the modules that
//! read `TOLLGATE_SOAK`.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_testkit::{RepositoryFile, root, sources};

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Whether what this file does depends on the variable.
fn has_long_form(text: &str) -> bool {
    // Put together here, so that this file does not find itself.
    let variable = ["\"TOLLGATE", "_SOAK\""].concat();
    let helper = ["soak", "_or("].concat();
    let shipped = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let defines = format!("fn {}", helper.trim_end_matches('('));
    let lines: Vec<&str> = shipped.collect();
    // The helper itself is no test.
    !lines.iter().any(|line| line.contains(&defines))
        && lines.iter().any(|line| line.contains(&variable) || line.contains(&helper))
}

/// The program of tests that a file is part of, as nextest names it, and its module there.
fn test_module(path: &str) -> (String, String) {
    let inside = path.strip_prefix("crates/").expect("tests are in crates");
    let (package, inside) = inside.split_once('/').expect("a crate has folders");
    let module = |inside: &str| {
        let name = inside.trim_end_matches(".rs").trim_end_matches("/mod");
        name.replace('/', "::")
    };
    if let Some(inside) = inside.strip_prefix("src/") {
        return (package.to_owned(), module(inside));
    }
    let inside = inside.strip_prefix("tests/").expect("tests are in `src` or `tests`");
    let (program, inside) = inside.split_once('/').unwrap_or((inside, ""));
    (format!("{package}::{}", program.trim_end_matches(".rs")), module(inside))
}

/// The filter of nextest that picks all tests of these files.
fn filter_of(paths: &[&str]) -> String {
    let mut programs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in paths {
        let (program, module) = test_module(path);
        programs.entry(program).or_default().insert(module);
    }
    let terms = programs.iter().map(|(program, modules)| {
        let modules: Vec<&str> = modules.iter().map(String::as_str).collect();
        let modules = match modules[..] {
            [module] => module.to_owned(),
            _ => format!("({})", modules.join("|")),
        };
        format!("binary_id({program}) & test(/^{modules}::/)")
    });
    terms.collect::<Vec<_>>().join("\n| ")
}

#[test]
fn every_test_with_a_long_form_runs_in_a_soak() {
    let sources = sources("crates", ".rs");
    let long = sources.iter().filter(|source| has_long_form(&source.text));
    let paths: Vec<&str> = long.map(|RepositoryFile { path, .. }| path.as_str()).collect();
    assert!(paths.len() > 3, "{paths:?}");
    let config = read(".config/nextest.toml");
    let (_, profile) = config.split_once("[profile.soak]").expect("the profile is there");
    let filter = profile.split("'''").nth(1).expect("it has a filter of several lines").trim();
    assert_eq!(
        filter,
        filter_of(&paths),
        "`default-filter` of the profile `soak` in .config/nextest.toml"
    );
    let makefile = read("Makefile");
    assert!(makefile.contains("--profile soak"), "`make soak` uses that profile");
}

#[test]
fn files_with_long_forms_are_found_and_named() {
    let variable = ["let soak = var(\"TOLLGATE", "_SOAK\");"].concat();
    let helper = ["let n = soak", "_or(1, 2);"].concat();
    let definition = ["fn soak", "_or(a: u8) {}\n", &variable].concat();
    assert!(has_long_form(&variable) && has_long_form(&helper));
    assert!(!has_long_form(&format!("/// {variable}")) && !has_long_form(&definition));
    let paths =
        ["crates/a/tests/it/two.rs", "crates/a/tests/it/one.rs", "crates/b/src/deep/tests/x.rs"];
    let expected =
        "binary_id(a::it) & test(/^(one|two)::/)\n| binary_id(b) & test(/^deep::tests::x::/)";
    assert_eq!(filter_of(&paths), expected);
}
