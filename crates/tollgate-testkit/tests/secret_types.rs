//! S-23: no type shows a secret by a derived `Debug` or `Serialize`: what is one has the type `Secret`,
//! or a `Debug` of its own.

use tollgate_testkit::{RepositoryFile, sources};

/// Fields of these names hold secrets, unless their type says otherwise.
const NAMES: [&str; 15] = [
    "token",
    "access_token",
    "refresh_token",
    "secret",
    "client_secret",
    "password",
    "api_key",
    "private_key",
    "credentials",
    "authorization",
    "cookie",
    "verifier",
    "code_verifier",
    "bearer",
    "admin_token",
];

/// What texts are made of: a derived `Debug` shows them.
const SHOWN: [&str; 8] =
    ["String", "str", "Bytes", "Vec<u8>", "HeaderValue", "HeaderMap", "Uri", "Value"];

/// Fields that are called like a secret and are none, with the reason.
const EXCUSED: &[(&str, &str, &str)] =
    &[("src/cli/servers.rs", "token", "clap wants `Debug` of what was typed; nothing prints it")];

/// A field of a struct with a derive.
struct Field {
    file: String,
    line: usize,
    name: String,
    kind: String,
}

#[test]
fn s_23_no_secret_is_in_a_type_that_shows_it() {
    let sources = sources("crates", ".rs");
    let fields: Vec<Field> =
        sources.iter().filter(|it| is_product(it)).flat_map(fields_shown).collect();
    assert!(fields.len() > 500, "the sources are read: {} fields", fields.len());
    for field in fields.iter().filter(|field| NAMES.contains(&field.name.as_str())) {
        let words = field.kind.split(|c: char| !c.is_alphanumeric() && c != '_');
        let is_shown =
            words.clone().any(|word| SHOWN.contains(&word)) || field.kind.contains("Vec<u8>");
        let is_secret = words.clone().any(|word| word == "Secret");
        let excused =
            EXCUSED.iter().any(|(file, name, _)| field.file.ends_with(file) && field.name == *name);
        assert!(
            !is_shown || is_secret || excused,
            "{}:{}: `{}: {}` is shown by a derive; make it a `Secret`, or write `Debug` by hand",
            field.file,
            field.line,
            field.name,
            field.kind
        );
    }
}

/// The type itself shows nothing, however it is printed.
#[test]
fn s_23_a_secret_has_no_display_and_no_serialize() {
    let sources = sources("crates/tollgate-core/src", "secret.rs");
    let text = &sources.first().expect("the file is there").text;
    for forbidden in
        ["Serialize", "Display for Secret", "derive(Debug", "Deref for Secret", "AsRef<str>"]
    {
        assert!(!text.contains(forbidden), "Secret has {forbidden}");
    }
    assert!(text.contains("f.write_str(\"<secret>\")"));
}

fn is_product(source: &RepositoryFile) -> bool {
    let path = &source.path;
    let is_test = path.contains("/tests/") || path.ends_with("tests.rs");
    !is_test && !path.contains("tollgate-testkit") && !path.contains("tollgate-bench")
}

/// Fields of structs and variants that derive `Debug` or `Serialize`.
fn fields_shown(source: &RepositoryFile) -> Vec<Field> {
    let mut fields = Vec::new();
    let mut derives = false;
    let mut inside: Option<usize> = None;
    for (at, line) in source.text.lines().enumerate() {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        if let Some(outer) = inside {
            if indent <= outer && bare.starts_with('}') {
                inside = None;
            } else if let Some((name, kind)) = bare.trim_start_matches("pub ").split_once(": ") {
                let name = name.rsplit(' ').next().unwrap_or(name).to_owned();
                let kind = kind.trim_end_matches(',').to_owned();
                fields.push(Field { file: source.path.clone(), line: at + 1, name, kind });
            }
            continue;
        }
        if bare.starts_with("#[derive(") {
            derives = bare.contains("Debug") || bare.contains("Serialize");
        } else if bare.starts_with("#[") || bare.starts_with("//") {
            // Between a derive and its type.
        } else {
            let words: Vec<&str> = bare.split_whitespace().collect();
            let is_type = words.contains(&"struct") || words.contains(&"enum");
            if derives && is_type && bare.ends_with('{') {
                inside = Some(indent);
            }
            derives = false;
        }
    }
    fields
}
