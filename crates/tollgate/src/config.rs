//! The config file, from text to checked values, in two steps.
//!
//! `raw` is what was typed, fitted to the tables of keys; `check` makes of it what the rest of the
//! program runs on. All mistakes are reported at once, each with its place. The only part that
//! reads the environment.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tollgate_core::secret::Secret;
use tollgate_engine::settings::EngineSettings;
use tollgate_server::TrustedProxies;
use tollgate_server::oidc::OidcConfig;

mod check;
mod diagnostic;
pub mod edit;
mod expand;
pub mod file;
#[doc(hidden)]
pub mod fuzzing;
mod json;
mod line_redaction;
mod manual;
mod node_checks;
mod raw;
mod read;
mod render;
mod schema;
pub mod secret_masking;
mod secrets;
mod source;
mod suggest;
mod syntax;
mod table;
mod wording;
mod yaml_tree;

#[cfg(test)]
mod tests;

pub use check::access::{ConfiguredKey, KeyProof, TlsSource};
pub use diagnostic::{ConfigReport, Diagnostic, DiagnosticLocation, Severity, SourceSpan};
pub use expand::{
    Environment, ProcessEnvironment, is_name as is_variable, is_reference, references,
};
pub use manual::manual;
pub use read::sounds_secret;
pub use render::{ColorMode, excerpt};
pub use schema::schema;
pub use secrets::SecretValues;

use diagnostic::Problems;
use file::ConfigVersion;

/// What runs without a file.
pub const DEFAULT: &str = include_str!("config/default.yaml");
/// Looked for in the working directory when no file is named.
pub const USUAL_FILE: &str = "tollgate.yaml";

/// Where the MCP registry is unless the config says otherwise.
pub const OFFICIAL_REGISTRY: &str = "https://registry.modelcontextprotocol.io";

/// A config that makes sense.
#[derive(Debug, Clone)]
pub struct Config {
    pub origin: ConfigOrigin,
    pub listen: SocketAddr,
    /// Names beside the loopback ones under which clients may address it, as in a `host` header.
    pub hosts: Vec<String>,
    /// Proxies that are believed about who their clients are.
    pub trusted_proxies: TrustedProxies,
    /// Where state lives that outlasts the process.
    pub data: PathBuf,
    pub settings: EngineSettings,
    /// How much of it strangers may use.
    pub front: tollgate_server::Limits,
    /// Without it, plain HTTP is served.
    pub tls: Option<TlsSource>,
    pub redis: Option<Secret>,
    /// Always has `offline`, the small model built in.
    pub llm: tollgate_llm::settings::LlmSettings,
    /// What makes numbers of texts that say what they mean, for the memory.
    pub embedding: Option<tollgate_llm::settings::EmbeddingSettings>,
    /// Where it tells of what it does.
    pub otlp: tollgate_otlp::OtlpConfig,
    /// The MCP registry: where servers are looked for.
    pub registry: String,
    /// Without any, and without `auth`, only loopback is served.
    pub keys: Vec<ConfiguredKey>,
    /// Whose tokens let in, too.
    pub auth: Option<OidcConfig>,
    /// Files that `${file:…}` names. Relative ones are in the working directory.
    pub secret_files: Vec<PathBuf>,
    /// All that must not be shown, by value.
    pub secrets: SecretValues,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigOrigin {
    File(PathBuf),
    Embedded,
}

/// What the command line says about the config.
#[derive(Debug, Clone, Default)]
pub struct ConfigRequest {
    /// `None`: `tollgate.yaml` in the working directory if there is one, else the embedded default.
    pub file: Option<PathBuf>,
    pub listen: Option<String>,
    pub data: Option<PathBuf>,
    /// Serve HTTPS by the local CA.
    pub tls: bool,
}

/// A good config, and what is odd about it (warnings only).
#[derive(Debug)]
pub struct LoadedConfig {
    pub config: Config,
    pub report: ConfigReport,
    /// Of what was read.
    pub version: ConfigVersion,
}

/// Reads, expands and checks the file that `request` names. Its secrets are masked from then on,
/// wherever this process writes.
pub fn load(
    request: &ConfigRequest,
    environment: &dyn Environment,
) -> Result<LoadedConfig, ConfigReport> {
    let loaded = read_and_check(request, environment)?;
    loaded.config.secrets.mask_from_now_on();
    Ok(loaded)
}

fn read_and_check(
    request: &ConfigRequest,
    environment: &dyn Environment,
) -> Result<LoadedConfig, ConfigReport> {
    let named = request.file.clone().or_else(|| {
        let usual = Path::new(USUAL_FILE);
        usual.symlink_metadata().is_ok().then(|| usual.to_owned())
    });
    let mut problems = Problems::default();
    let Some(file) = named else {
        let (config, report) =
            finish(ConfigOrigin::Embedded, DEFAULT, request, (environment, problems))?;
        return Ok(LoadedConfig { config, report, version: ConfigVersion::of(DEFAULT.as_bytes()) });
    };
    let bytes = source::bytes_of(&file, &mut problems);
    let text = bytes.as_deref().and_then(|bytes| source::decode(bytes, &mut problems));
    match (bytes, text) {
        (Some(bytes), Some(text)) if !problems.has_errors() => {
            let origin = ConfigOrigin::File(file);
            let (config, report) = finish(origin, &text, request, (environment, problems))?;
            Ok(LoadedConfig { config, report, version: ConfigVersion::of(&bytes) })
        }
        (_, text) => {
            let text = text.unwrap_or_default();
            Err(problems.into_report(&file.display().to_string(), &text))
        }
    }
}

/// The same for a text that is not (yet) a file, such as an edit that is to be saved.
pub fn load_text(
    name: &Path,
    bytes: &[u8],
    request: &ConfigRequest,
    environment: &dyn Environment,
) -> Result<LoadedConfig, ConfigReport> {
    let mut problems = Problems::default();
    let Some(text) = source::decode(bytes, &mut problems) else {
        return Err(problems.into_report(&name.display().to_string(), ""));
    };
    let origin = ConfigOrigin::File(name.to_owned());
    let (config, report) = finish(origin, &text, request, (environment, problems))?;
    Ok(LoadedConfig { config, report, version: ConfigVersion::of(bytes) })
}

/// A file that says nothing: whoever starts with it gets the embedded default.
pub fn is_blank(text: &str) -> bool {
    let mut problems = Problems::default();
    let tree = yaml_tree::parse(text, &mut problems);
    !problems.has_errors() && tree.is_none_or(|node| node.is_null())
}

/// What a text says, as values; `Null` for one that cannot be read.
pub fn values(text: &str) -> serde_json::Value {
    let tree = yaml_tree::parse(text, &mut Problems::default());
    tree.map_or(serde_json::Value::Null, |tree| json::from_node(&tree))
}

/// What any YAML says, as values; else where it is wrong.
pub fn yaml(text: &str) -> Result<serde_json::Value, String> {
    let mut problems = Problems::default();
    let tree = yaml_tree::parse(text, &mut problems);
    if !problems.has_errors() {
        return Ok(tree.map_or(serde_json::Value::Null, |tree| json::from_node(&tree)));
    }
    let report = problems.into_report("", text);
    let first = report.diagnostics.first().map(|found| match found.place {
        DiagnosticLocation::At(at) => {
            format!("line {}, column {}: {}", at.line, at.column, found.message)
        }
        DiagnosticLocation::File | DiagnosticLocation::Flag(_) => found.message.clone(),
    });
    Err(first.unwrap_or_else(|| "it cannot be read".to_owned()))
}

fn finish(
    origin: ConfigOrigin,
    text: &str,
    request: &ConfigRequest,
    (environment, mut problems): (&dyn Environment, Problems),
) -> Result<(Config, ConfigReport), ConfigReport> {
    let name = match &origin {
        ConfigOrigin::File(path) => path.display().to_string(),
        ConfigOrigin::Embedded => "the embedded default".to_owned(),
    };
    let own = match yaml_tree::parse(text, &mut problems) {
        None if problems.has_errors() => return Err(problems.into_report(&name, text)),
        typed => typed.filter(|node| !node.is_null() && origin != ConfigOrigin::Embedded),
    };
    let is_own = own.is_some();
    problems.is_read = true;
    let tree = own
        .or_else(|| yaml_tree::parse(DEFAULT, &mut problems))
        .expect("the embedded default is not empty");
    let recording = expand::RecordingEnvironment::of(environment);
    let config = read::read(&tree, &recording, &mut problems).and_then(|fields| {
        let config = check::check(&fields, origin, request, &mut problems)?;
        // Nobody typed what stands in the embedded default.
        if is_own {
            check::unimplemented_keys::warn(&fields, &mut problems);
        }
        Some(config)
    });
    let failed = problems.has_errors();
    let secrets = problems.values.clone();
    let report = problems.into_report(&name, text);
    match config {
        Some(config) if !failed => {
            let secret_files = recording.into_files();
            Ok((Config { secret_files, secrets, ..config }, report))
        }
        _ => Err(report),
    }
}
