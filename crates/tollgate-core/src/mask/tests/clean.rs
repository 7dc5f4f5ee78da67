use super::*;

/// Nothing of this is a secret.
const CLEAN: &[&str] = &[
    "The quick brown fox jumps over the lazy dog.",
    "550e8400-e29b-41d4-a716-446655440000",
    "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "Please enter your password: it must have 12 characters.",
    "Password: required",
    "The token expires after an hour; ask for a new token.",
    "What is the secret of a good soup? The secret: patience.",
    "if (password == null) { throw new Error('password is missing'); }",
    "let token = getToken();",
    "const password = args.password;",
    "def login(user, password=None, token=settings.token):",
    "password=${DB_PASSWORD} token=<your token> secret=***",
    "authorization: Bearer ${TOKEN}",
    "Authorization: Bearer <token>",
    "max_tokens=4096 total_tokens: 123 tokens=99",
    "{\"usage\": {\"prompt_tokens\": 12, \"completion_tokens\": 34}}",
    "{\"nextPageToken\": \"CAESBwoFMTIzNDU\"}",
    "{\"properties\": {\"password\": {\"type\": \"string\"}}}",
    "tokenizer: gpt2, eos_token: \"</s>\"",
    "PWD=/home/bob/project",
    "risk-averse task-force disk-usage sk-learn",
    "class=\"sk-button sk-button-primary-large-and-wide\"",
    "AKIA is a prefix, ghp_ is one too, and so are xoxb- and sk-",
    "asiatic AKIAnnouncement",
    "https://example.com/a/b?c=d&e=f#g",
    "ssh://git@github.com:22/owner/repo.git",
    "mailto:bob@example.com http://localhost:8655/mcp",
    "2026-11-15T11:14:39.123Z INFO call done took_us=1234",
    "eyJ is how base64 of JSON begins; eyJhbGciOiJIUzI1NiJ9 alone is only a header",
    "The bearer of this letter is 42 years old.",
    "cookie: a small biscuit",
    "Ingredients: 200 g flour, 2 eggs; cookies=12",
    "monkey=banana12345 turkey: dinner2024",
    "keyboard: qwerty12345",
    "fn key(&self) -> &Key { &self.key }",
    "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor.",
    "密码是什么? Пароль нужен. 🔑",
    "package-lock: integrity sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=",
    "arn:aws:iam::123456789012:user/Bob",
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "GET /v1/tools?agent=sage&tier=deep HTTP/1.1",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "ISBN 978-3-16-148410-0, IBAN GB82 WEST 1234 5698 7654 32",
];

#[test]
fn what_is_no_secret_stays_as_it_is() {
    let masker = masker();
    for given in CLEAN {
        assert_eq!(masker.text(given), None);
        let quoted = serde_json::Value::from(*given).to_string();
        assert_eq!(masker.json(&format!("{{\"text\": {quoted}, \"id\": 7}}")), None);
    }
}

#[test]
fn this_project_has_hardly_anything_to_hide() {
    let masker = masker();
    let read = |path: &str| {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
        std::fs::read_to_string(format!("{root}{path}")).unwrap()
    };
    for path in ["README.md", "ARCHITECTURE.md", "Cargo.lock", "docs/http.md"] {
        let given = read(path);
        let masked = masker.text(&given).unwrap_or_else(|| given.clone());
        // Samples show where a key goes.
        assert!(masked.matches(MARK).count() <= 3, "{path}: {masked}");
    }
}
