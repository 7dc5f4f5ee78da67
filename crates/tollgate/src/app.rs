//! Wiring: from a checked config to a running gateway.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tollgate_core::secret::Secret;
use tollgate_core::secret_values;
use tollgate_engine::audit::AuditLedger;
use tollgate_engine::builtin::files;
use tollgate_engine::calibration::CalibrationMode;
use tollgate_engine::clock::{Clock, SystemClock};
use tollgate_engine::confine::{self, Launcher, PrivateFiles};
use tollgate_engine::gate::Gate;
use tollgate_engine::record::{CallLogger, Observer};
use tollgate_engine::settings::MemoryDatabaseSettings;
use tollgate_engine::spans::Tracer;
use tollgate_engine::{Parts, RunningEngine, ServerChanges};
use tollgate_llm::provider::ModelRegistry;
use tollgate_mcp::memory_budget;
use tollgate_otlp::ExporterHandle;
use tollgate_server::keyring::Keyring;
use tollgate_server::{Fingerprint, HttpServer, HttpServerOptions};
use tollgate_store::memory::MemoryStore;
use tollgate_store::{OpenError, Store};

use crate::admin_token;
use crate::command_error::CommandError;
use crate::open_files;

mod certificate;
mod embedder;

use certificate::CertificateStamp;
pub use embedder::embedder;
use tollgate_config::{self as config, Config, ConfigOrigin, Environment as _, TlsSource};

/// A running engine with its HTTP front.
pub struct App {
    running: RunningEngine,
    pub server: HttpServer,
    /// The admin token.
    pub admin: Secret,
    store: Arc<Store>,
    private_files: PrivateFiles,
    certificate: Mutex<CertificateStamp>,
    /// Telemetry export, if configured.
    exporting: Mutex<Option<ExporterHandle>>,
}

/// Logged at the start, because the operator has to act.
const KEYS_LOST: &str = "keys were created for this gateway, but its database contains none: it \
                         was removed, emptied or replaced. Access requires the admin token. \
                         Restore `tollgate.db` from a backup, create new keys with `tollgate keys \
                         create`, or allow access from this machine without a key with `tollgate \
                         keys open`";

impl App {
    /// Starts everything that `config` names. Upstream servers connect in the background.
    pub async fn start(
        config: &Config,
        calibration: CalibrationMode,
    ) -> Result<Self, CommandError> {
        prepare(config)?;
        memory_budget::set_memory_limit(config.front.memory.limit());
        confine::sweep_orphans();
        config.secrets.mask_from_now_on();
        let store = Arc::new(store(config).await?);
        // After the database: if a token exists without a database, the database was lost.
        let admin = admin_token::obtain(&config.data)?;
        secret_values::configure([admin.reveal()]);
        let ledger = Arc::new(ledger(config, &store).await?);
        let keyring = Arc::new(keyring(&store));
        let observers: Vec<Box<dyn Observer>> = vec![Box::new(CallLogger)];
        let private_files = PrivateFiles::default();
        private_files.add(private(config));
        let launcher = Launcher::own(private_files.clone());
        let (tracer, exporting) = telemetry(config);
        let memory = Some(Arc::new(memory(config).await?));
        let embedder = embedder(config).await?;
        let kept = Arc::clone(&store);
        let store = Some(store);
        let parts = Parts {
            observers,
            store,
            memory,
            embedder,
            ledger,
            calibration,
            launcher,
            tracer,
            ..Parts::default()
        };
        let running = tollgate_engine::start(&config.settings, parts)
            .map_err(|error| CommandError::new(error.to_string()))?;
        let options = HttpServerOptions {
            hosts: config.hosts.clone(),
            origins: config.origins.clone(),
            incoming_calls: config.incoming_calls.clone(),
            keys: keys(config),
            keyring: Some(keyring),
            admin: Some(Fingerprint::of(admin.reveal().as_bytes())),
            auth: config.auth.clone(),
            limits: open_files::fit(config.front.clone()),
            models: config.llm.clone(),
            telephony: config.telephony.clone(),
        };
        let server = HttpServer::new(Arc::clone(&running.gate), &options)
            .map_err(|why| CommandError::new(why.to_string()))?;
        server.set_trusted_proxies(config.trusted_proxies.clone());
        let reading = server.clone();
        blocking(move || reading.read_keys()).await?;
        if server.are_keys_lost() {
            tracing::error!(data = %config.data.display(), "{KEYS_LOST}");
        }
        let certificate = Mutex::default();
        let exporting = Mutex::new(exporting);
        Ok(Self { running, server, admin, store: kept, private_files, certificate, exporting })
    }

    /// Goes on by another config. What needs a new start stays as it was.
    pub async fn reconfigure(&self, config: &Config) -> ServerChanges {
        self.private_files.add(private(config));
        // Mask before anything uses the new config. Secrets of the previous config stay masked,
        // too.
        config.secrets.mask_from_now_on();
        secret_values::configure([self.admin.reveal()]);
        // After the agents: a new key must not apply to agents of the old config.
        let swapped = || {
            self.server.set_access(keys(config), config.auth.clone());
            self.server.set_telephony(&config.telephony);
            self.server.set_hosts(&config.hosts, &config.origins);
            self.server.set_incoming_calls(&config.incoming_calls);
            self.server.set_trusted_proxies(config.trusted_proxies.clone());
            if let Err(why) = self.server.set_models(&config.llm) {
                tracing::warn!(%why, "cannot apply the new models; the old ones remain in use");
            }
        };
        self.running.reconfigure(&config.settings, swapped).await
    }

    /// Replaces the certificate by the one that the config names. Fails, and changes nothing, if it
    /// cannot be used.
    pub async fn certify(&self, config: &Config) -> Result<(), CommandError> {
        *self.certificate.lock() = CertificateStamp::of(config).await;
        self.server.set_identity(certificate::obtain(config).await?);
        Ok(())
    }

    /// A description of the secret files and the certificate, if they changed since they were read.
    pub async fn changed_files(&self) -> Option<String> {
        if let Some(stamp) = self.running.changed_files().await {
            return Some(format!("{stamp:?}"));
        }
        let certificate = self.certificate.lock().clone();
        certificate.renewal_reason().await
    }

    /// Stops all servers and flushes the telemetry.
    pub async fn stop(&self) {
        self.running.gate.stop().await;
        let exporting = self.exporting.lock().take();
        if let Some(exporting) = exporting {
            exporting.finish().await;
        }
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub fn gate(&self) -> &Arc<Gate> {
        &self.running.gate
    }
}

/// Checks that the certificate can be obtained, if one is configured.
pub async fn certifiable(config: &Config) -> Result<(), CommandError> {
    certificate::obtain(config).await.map(drop)
}

/// Starts the telemetry export. An error there does not prevent the start.
fn telemetry(config: &Config) -> (Tracer, Option<ExporterHandle>) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let variable = |name: &str| config::ProcessEnvironment.variable(name);
    let settings = tollgate_otlp::OtlpSettings::of(&config.otlp, &variable);
    let started = settings.and_then(|settings| match settings {
        Some(settings) => tollgate_otlp::start(&settings, &clock).map(Some),
        None => Ok(None),
    });
    match started {
        Ok(Some((tracer, exporting))) => (tracer, Some(exporting)),
        Ok(None) => (Tracer::default(), None),
        Err(error) => {
            tracing::warn!(%error, "telemetry is disabled");
            (Tracer::default(), None)
        }
    }
}

/// The keys of the config in the form of the server crate.
pub fn keys(config: &Config) -> Vec<tollgate_server::ApiKey> {
    config.keys.iter().map(key).collect()
}

fn key(key: &config::ConfiguredKey) -> tollgate_server::ApiKey {
    tollgate_server::ApiKey {
        agents: key.agents.clone(),
        role: key.role,
        rights: key.rights,
        grant: key.grant.clone(),
        expires: key.expires,
        ..tollgate_server::ApiKey::new(key.name.clone(), key.proof.fingerprint())
    }
}

/// The keyring and its audit ledger, without a running gateway.
pub struct OfflineKeyring {
    pub keyring: Arc<Keyring>,
    pub ledger: AuditLedger,
}

pub async fn open_offline_keyring(config: &Config) -> Result<OfflineKeyring, CommandError> {
    make_data(config)?;
    let store = Arc::new(store(config).await?);
    let ledger = ledger(config, &store).await?;
    Ok(OfflineKeyring { keyring: Arc::new(keyring(&store)), ledger })
}

fn keyring(store: &Arc<Store>) -> Keyring {
    Keyring::new(Arc::clone(store), Arc::new(SystemClock))
}

/// Whether clients need a key. A key that was ever created counts: losing it must not open the
/// gateway to everyone.
pub async fn is_keyed(config: &Config) -> Result<bool, CommandError> {
    if !config.keys.is_empty() || config.auth.is_some() {
        return Ok(true);
    }
    if !config.data.exists() {
        return Ok(false);
    }
    let keyring = keyring(&Arc::new(store(config).await?));
    blocking(move || keyring.is_required()).await
}

/// Checks the listen address: reachable from outside only with keys.
pub async fn check_reach(config: &Config) -> Result<(), CommandError> {
    let is_guarded = !config.keys.is_empty() || config.auth.is_some();
    if config.listen.ip().is_loopback() || is_guarded {
        return Ok(());
    }
    make_data(config)?;
    let keyring = keyring(&Arc::new(store(config).await?));
    if blocking(move || keyring.in_force()).await? > 0 {
        return Ok(());
    }
    Err(CommandError::Usage(format!(
        "`{}` can be reached from outside, but there are no keys: add `keys:` to the config, \
         create one with `tollgate keys create NAME`, or listen on 127.0.0.1",
        config.listen
    )))
}

/// Runs blocking work, such as disk access, on the blocking thread pool.
pub async fn blocking<T: Send + 'static, E: std::fmt::Display + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, CommandError> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(|panic| CommandError::new(panic.to_string()))?;
    done.map_err(|error| CommandError::new(error.to_string()))
}

/// What was measured before. Without it nothing starts: it would be lost without a word. While
/// another process holds the file this waits for some seconds, and nobody else has to.
pub async fn store(config: &Config) -> Result<Store, CommandError> {
    let file = config.data.join("tollgate.db");
    blocking(move || Store::open(&file)).await
}

/// Opens the memory of agents: a file beside the store, or the configured database.
pub async fn memory(config: &Config) -> Result<MemoryStore, CommandError> {
    match &config.settings.memory.database {
        MemoryDatabaseSettings::Sqlite => {
            let file = config.data.join("memory.db");
            blocking(move || MemoryStore::open_sqlite(&file)).await
        }
        MemoryDatabaseSettings::Postgres(url) => MemoryStore::connect_postgres(url.reveal())
            .map_err(|error| CommandError::new(format!("`database`: {error}"))),
    }
}

/// Opens the audit ledger, in the file of the store.
pub async fn ledger(config: &Config, store: &Store) -> Result<AuditLedger, CommandError> {
    let Some(trail) = store.audit() else { return Ok(AuditLedger::none()) };
    let audit = config.settings.audit.clone();
    let open = move || {
        let file = trail.file().to_owned();
        let opened = AuditLedger::open(trail, &audit, Arc::new(SystemClock));
        opened.map_err(|why| OpenError::Unusable { file, why })
    };
    blocking(open).await
}

/// Paths that no tool and no server may open: they contain secrets and data of other callers.
pub fn private(config: &Config) -> Vec<PathBuf> {
    let mut private = vec![config.data.clone()];
    if let ConfigOrigin::File(file) = &config.origin {
        private.push(file.clone());
    }
    if let Some(TlsSource::Files { key, .. }) = &config.tls {
        private.push(key.clone());
    }
    private.extend(config.secret_files.iter().cloned());
    private
}

/// Creates the private data directory and checks the config against this machine.
fn prepare(config: &Config) -> Result<(), CommandError> {
    make_data(config)?;
    fit(config)
}

/// Checks that the models can be used and that the directory of the file tools contains none of our
/// own files.
pub fn fit(config: &Config) -> Result<(), CommandError> {
    // Checked before anything is changed.
    ModelRegistry::new(&config.llm, Arc::new(SystemClock), None)
        .map_err(|why| CommandError::new(why.to_string()))?;
    let ours = private(config);
    let ours: Vec<&Path> = ours.iter().map(PathBuf::as_path).collect();
    let base = &config.settings.builtin.files;
    match files::overlaps(base, &ours) {
        None => Ok(()),
        Some(inside) => Err(CommandError::new(format!(
            "the file tools may write to `{}`, but `{}` is in it; give them a directory of their own",
            base.display(),
            inside.display()
        ))),
    }
}

fn make_data(config: &Config) -> Result<(), CommandError> {
    let data = &config.data;
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(data);
    made.map_err(|error| {
        CommandError::new(format!("cannot create the data directory `{}`: {error}", data.display()))
    })
}
