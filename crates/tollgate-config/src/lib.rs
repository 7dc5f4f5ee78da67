//! Config file: parsing and validation, in two steps.
//!
//! `raw` holds the parsed text, matched against the tables of keys. `check` builds the settings for
//! the rest of the program from it. All mistakes are reported at once, each with its position. This
//! is the only crate that reads the environment.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tollgate_core::secret::Secret;
use tollgate_engine::settings::EngineSettings;
use tollgate_server::TrustedProxies;
use tollgate_server::oidc::OidcConfig;
use tollgate_server::telephony::TelephonySettings;

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
pub use render::{ColorMode, SourceExcerpt};
pub use schema::schema;
pub use secrets::SecretValues;

use diagnostic::Problems;
use file::ConfigVersion;

/// The config that is used without a file.
pub const DEFAULT: &str = include_str!("default.yaml");
/// Default file name in the working directory.
pub const USUAL_FILE: &str = "tollgate.yaml";

/// Model that transcribes the callers of phone lines unless the config says otherwise.
const USUAL_TRANSCRIPTION: &str = "gpt-4o-mini-transcribe";

/// Where the MCP registry is unless the config says otherwise.
pub const OFFICIAL_REGISTRY: &str = "https://registry.modelcontextprotocol.io";

/// A config that makes sense.
#[derive(Debug, Clone)]
pub struct Config {
    pub origin: ConfigOrigin,
    pub listen: SocketAddr,
    /// Host names, beside the loopback ones, by which clients may address the gateway, as in a
    /// `host` header.
    pub hosts: Vec<String>,
    /// Origins of web pages that may open live sessions with a client secret.
    pub origins: Vec<String>,
    /// Proxies whose forwarding headers are trusted.
    pub trusted_proxies: TrustedProxies,
    /// Directory of persistent state.
    pub data: PathBuf,
    pub settings: EngineSettings,
    /// Resource limits of the fronts.
    pub front: tollgate_server::Limits,
    /// `None`: plain HTTP.
    pub tls: Option<TlsSource>,
    pub redis: Option<Secret>,
    /// Always contains `offline`, the small built-in model.
    pub llm: tollgate_llm::settings::LlmSettings,
    /// Webhooks for incoming telephone calls.
    pub incoming_calls: Vec<tollgate_server::IncomingCallSettings>,
    /// Embedding model for the memory.
    pub embedding: Option<tollgate_llm::settings::EmbeddingSettings>,
    /// Where it tells of what it does.
    pub otlp: tollgate_otlp::OtlpConfig,
    /// The MCP registry: where servers are looked for.
    pub registry: String,
    /// Without any, and without `auth`, only loopback is served.
    pub keys: Vec<ConfiguredKey>,
    /// Issuer whose tokens are accepted as well.
    pub auth: Option<OidcConfig>,
    /// Phone lines, and platforms whose agents call tools here.
    pub telephony: TelephonySettings,
    /// Files named by `${file:…}`, relative to the working directory.
    pub secret_files: Vec<PathBuf>,
    /// All secret values, for masking.
    pub secrets: SecretValues,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigOrigin {
    File(PathBuf),
    Embedded,
}

/// Config options of the command line.
#[derive(Debug, Clone, Default)]
pub struct ConfigRequest {
    /// `None`: `tollgate.yaml` in the working directory if there is one, else the embedded default.
    pub file: Option<PathBuf>,
    pub listen: Option<String>,
    pub data: Option<PathBuf>,
    /// Serve HTTPS with a certificate of the local CA.
    pub tls: bool,
}

/// A valid config with its warnings.
#[derive(Debug)]
pub struct LoadedConfig {
    pub config: Config,
    pub report: ConfigReport,
    /// Version of the text that was read.
    pub version: ConfigVersion,
}

/// Reads, expands and checks the file that `request` names. From then on its secrets are masked in
/// all output of this process.
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
            finish(ConfigOrigin::Embedded, DEFAULT, request, environment, problems)?;
        return Ok(LoadedConfig { config, report, version: ConfigVersion::of(DEFAULT.as_bytes()) });
    };
    let bytes = source::bytes_of(&file, &mut problems);
    let text = bytes.as_deref().and_then(|bytes| source::decode(bytes, &mut problems));
    match (bytes, text) {
        (Some(bytes), Some(text)) if !problems.has_errors() => {
            let origin = ConfigOrigin::File(file);
            let (config, report) = finish(origin, &text, request, environment, problems)?;
            Ok(LoadedConfig { config, report, version: ConfigVersion::of(&bytes) })
        }
        (_, text) => {
            let text = text.unwrap_or_default();
            Err(problems.into_report(&file.display().to_string(), &text))
        }
    }
}

/// The same for a text that is not a file (yet), such as an unsaved edit.
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
    let (config, report) = finish(origin, &text, request, environment, problems)?;
    Ok(LoadedConfig { config, report, version: ConfigVersion::of(bytes) })
}

/// Whether a file is empty. It then means the embedded default.
pub fn is_blank(text: &str) -> bool {
    let mut problems = Problems::default();
    let tree = yaml_tree::parse(text, &mut problems);
    !problems.has_errors() && tree.is_none_or(|node| node.is_null())
}

/// The parsed values of a text. `Null` if it cannot be parsed.
pub fn values(text: &str) -> serde_json::Value {
    let tree = yaml_tree::parse(text, &mut Problems::default());
    tree.map_or(serde_json::Value::Null, |tree| json::from_node(&tree))
}

/// Where a YAML text is malformed, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct YamlSyntaxError(String);

/// The parsed values of any YAML.
pub fn yaml(text: &str) -> Result<serde_json::Value, YamlSyntaxError> {
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
    Err(YamlSyntaxError(first.unwrap_or_else(|| "it cannot be read".to_owned())))
}

fn finish(
    origin: ConfigOrigin,
    text: &str,
    request: &ConfigRequest,
    environment: &dyn Environment,
    mut problems: Problems,
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
        let config = check::check(&fields, origin, request, &recording, &mut problems)?;
        // The user did not write the embedded default.
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
