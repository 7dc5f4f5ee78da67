//! The set of servers of one config, in-process and upstream. Computes which of them stay, start
//! and stop when the config changes; the caller carries it out.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tollgate_core::catalog::{ServerListing, ServerOrigin, ServerRules};
use tollgate_core::code_mode::MetaTool;
use tollgate_core::id::{ServerId, ToolName};
use tollgate_core::json;
use tollgate_core::tool::{ApprovalMode, ToolOverride, ToolReach};
use tollgate_core::trust::TrustPolicy;

use crate::backend::Backend;
use crate::builtin;
use crate::builtin::BuiltinDeps;
use crate::builtin::backend::BuiltinBackend;
use crate::builtin::stamp::BuiltinFilesStamp;
use crate::resource_watches::WatchTarget;
use crate::settings::{BuiltinSettings, EngineSettings, Server, ServerTransport};
use crate::upstream::{Upstream, UpstreamContext};

const BUILTIN_TIMEOUT: Duration = Duration::from_secs(10);
/// Includes the time that people take to approve its calls. The program's own time limit is the
/// sandbox's, and lower.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(3_600);

pub(crate) struct ServerSet {
    context: UpstreamContext,
    /// Settings of the shipped built-in servers, and the stamp of their files.
    builtin: BuiltinSettings,
    stamp: BuiltinFilesStamp,
    around: BuiltinDeps,
    /// The shipped ones, then those of an embedding program.
    residents: Vec<BuiltinServer>,
    /// The backend that runs programs; a built-in server in code mode.
    programs: Arc<dyn Backend>,
    upstreams: Vec<(Server, Arc<Upstream>)>,
    /// The gateway's own files as of the last launch.
    closed_to_servers: Vec<PathBuf>,
}

/// Dependencies of in-process servers, besides their settings.
pub(crate) struct BuiltinServerParts {
    /// Servers of an embedding program.
    pub(crate) brought: Vec<builtin::Server>,
    /// The backend that runs programs.
    pub(crate) programs: Arc<dyn Backend>,
    pub(crate) around: BuiltinDeps,
}

/// A server in this process.
struct BuiltinServer {
    name: &'static str,
    origin: BuiltinOrigin,
    backend: Arc<dyn Backend>,
    listing: ServerListing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BuiltinOrigin {
    Shipped,
    Brought,
    /// The meta tools of code mode.
    Code,
}

/// The shipped built-in servers, and what they were built from.
pub(crate) struct ShippedServers {
    builtin: BuiltinSettings,
    stamp: BuiltinFilesStamp,
    servers: Vec<builtin::Server>,
}

impl ShippedServers {
    fn read(settings: &BuiltinSettings, around: &BuiltinDeps) -> Self {
        // Before the files are read: a change meanwhile is seen the next time.
        let stamp = BuiltinFilesStamp::of(settings);
        let servers = builtin::shipped_servers::servers(settings, around);
        Self { builtin: settings.clone(), stamp, servers }
    }
}

/// Changes to the servers, by id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerChanges {
    pub added: Vec<ServerId>,
    pub removed: Vec<ServerId>,
    /// Servers whose settings changed and that had to be restarted.
    pub restarted: Vec<ServerId>,
    pub unchanged: Vec<ServerId>,
}

impl ServerSet {
    /// Built-in servers only: [`ServerSet::launch`] starts the others.
    pub(crate) fn new(
        context: UpstreamContext,
        settings: &EngineSettings,
        residents: BuiltinServerParts,
    ) -> Self {
        let BuiltinServerParts { brought, programs, around } = residents;
        let ShippedServers { builtin, stamp, servers } =
            ShippedServers::read(&settings.builtin, &around);
        let shipped = servers.into_iter().map(|it| BuiltinServer::new(it, BuiltinOrigin::Shipped));
        let brought = brought.into_iter().map(|it| BuiltinServer::new(it, BuiltinOrigin::Brought));
        let code = settings.has_code_mode().then(|| BuiltinServer::code(&programs));
        Self {
            context,
            builtin,
            stamp,
            around,
            residents: shipped.chain(brought).chain(code).collect(),
            programs,
            upstreams: Vec::new(),
            closed_to_servers: Vec::new(),
        }
    }

    /// The shipped servers, rebuilt if their settings or files changed; `None`: unchanged. Reads
    /// files on a blocking thread.
    pub(crate) async fn reread_builtins(
        &self,
        settings: &BuiltinSettings,
    ) -> Option<ShippedServers> {
        let known = (self.builtin == *settings).then(|| self.stamp.clone());
        let settings = settings.clone();
        let around = self.around.clone();
        let renewed = tokio::task::spawn_blocking(move || match known {
            Some(known) if known == BuiltinFilesStamp::of(&settings) => None,
            _ => Some(ShippedServers::read(&settings, &around)),
        });
        renewed.await.ok().flatten()
    }

    /// The new stamp of the files of built-in tools, if they changed since they were read.
    pub(crate) async fn changed_files(&self) -> Option<BuiltinFilesStamp> {
        let settings = self.builtin.clone();
        let stamp =
            tokio::task::spawn_blocking(move || BuiltinFilesStamp::of(&settings)).await.ok()?;
        (stamp != self.stamp).then_some(stamp)
    }

    /// Replaces the built-in servers.
    pub(crate) fn replace_builtins(
        &mut self,
        settings: &EngineSettings,
        renewed: Option<ShippedServers>,
    ) {
        self.residents.retain(|it| it.origin != BuiltinOrigin::Code);
        if settings.has_code_mode() {
            self.residents.push(BuiltinServer::code(&self.programs));
        }
        let Some(ShippedServers { builtin, stamp, servers }) = renewed else { return };
        (self.builtin, self.stamp) = (builtin, stamp);
        let shipped = servers.into_iter().map(|it| BuiltinServer::new(it, BuiltinOrigin::Shipped));
        let stay = self.residents.drain(..).filter(|it| it.origin != BuiltinOrigin::Shipped);
        self.residents = shipped.chain(stay).collect();
    }

    /// Starts the new servers, keeps the unchanged ones, and returns those to stop. The registry
    /// must know the new ones already, or it would ignore their updates.
    pub(crate) fn launch(&mut self, servers: &[Server]) -> (ServerChanges, Vec<Arc<Upstream>>) {
        let mut running: HashMap<ServerId, (Server, Arc<Upstream>)> =
            self.upstreams.drain(..).map(|it| (it.0.id.clone(), it)).collect();
        let mut changes = ServerChanges::default();
        let mut ending = Vec::new();
        let private = self.private_files();
        for server in servers {
            let id = server.id.clone();
            let upstream = match running.remove(&id) {
                Some((was, upstream)) if self.runs_on(server, &was, &private) => {
                    changes.unchanged.push(id);
                    upstream
                }
                before => {
                    let list = match before {
                        Some(_) => &mut changes.restarted,
                        None => &mut changes.added,
                    };
                    list.push(id);
                    let upstream = Upstream::start(server.clone(), &self.context);
                    if let Some((_, before)) = before {
                        before.mute();
                        upstream.inherit(&before);
                        ending.push(before);
                    }
                    upstream
                }
            };
            self.upstreams.push((server.clone(), upstream));
        }
        for (id, (_, upstream)) in running {
            upstream.mute();
            changes.removed.push(id);
            ending.push(upstream);
        }
        changes.removed.sort();
        self.closed_to_servers = private;
        (changes, ending)
    }

    /// Whether a server that was started as `was` can stay for `server`. Files that became private
    /// since then are still open to the child.
    fn runs_on(&self, server: &Server, was: &Server, private: &[PathBuf]) -> bool {
        let is_child = matches!(server.transport, ServerTransport::Stdio(_));
        server.runs_like(was) && (!is_child || private == self.closed_to_servers)
    }

    fn private_files(&self) -> Vec<PathBuf> {
        let launcher = self.context.launcher.as_ref();
        launcher.map(|launcher| launcher.private.paths()).unwrap_or_default()
    }

    /// Servers that have to be restarted for `servers`.
    pub(crate) fn servers_to_restart(&self, servers: &[Server]) -> Vec<ServerId> {
        let private = self.private_files();
        let is_other = |server: &&Server| {
            let running = self.upstreams.iter().find(|(was, _)| was.id == server.id);
            running.is_some_and(|(was, _)| !self.runs_on(server, was, &private))
        };
        servers.iter().filter(is_other).map(|server| server.id.clone()).collect()
    }

    /// In the order of the config, built-in servers first.
    pub(crate) fn rules(&self, servers: &[Server], usual: TrustPolicy) -> Vec<Arc<ServerRules>> {
        let residents = self.builtins_by_id(servers).map(|(id, it)| {
            let rules = match it.origin {
                BuiltinOrigin::Shipped | BuiltinOrigin::Brought => builtin_rules(id),
                BuiltinOrigin::Code => code_rules(id),
            };
            // Their definitions are ours, but untrusted text may still have asked for the call.
            let trust = TrustPolicy { taint: usual.taint, ..rules.trust };
            ServerRules { trust, ..rules }
        });
        residents.chain(servers.iter().map(rules)).map(Arc::new).collect()
    }

    pub(crate) fn listings(&self, servers: &[Server]) -> Vec<(ServerId, ServerListing)> {
        self.builtins_by_id(servers).map(|(id, resident)| (id, resident.listing.clone())).collect()
    }

    pub(crate) fn backends(&self) -> HashMap<ServerId, Arc<dyn Backend>> {
        let servers: Vec<Server> =
            self.upstreams.iter().map(|(server, _)| server.clone()).collect();
        let residents = self.builtins_by_id(&servers).map(|(id, it)| (id, Arc::clone(&it.backend)));
        let upstreams = self.upstreams.iter().map(|(server, upstream)| {
            let backend: Arc<dyn Backend> = Arc::<Upstream>::clone(upstream);
            (server.id.clone(), backend)
        });
        residents.collect::<Vec<_>>().into_iter().chain(upstreams).collect()
    }

    pub(crate) fn watch_targets(&self) -> HashMap<ServerId, Arc<dyn WatchTarget>> {
        let watched = self.upstreams.iter().map(|(server, upstream)| {
            let watched: Arc<dyn WatchTarget> = Arc::<Upstream>::clone(upstream);
            (server.id.clone(), watched)
        });
        watched.collect()
    }

    pub(crate) fn upstreams(&self) -> Vec<Arc<Upstream>> {
        self.upstreams.iter().map(|(_, upstream)| Arc::clone(upstream)).collect()
    }

    /// Built-in servers, and the number of tools of each.
    pub(crate) fn builtin_tool_counts(&self, servers: &[Server]) -> Vec<(ServerId, usize)> {
        self.builtins_by_id(servers).map(|(id, it)| (id, it.listing.tools.len())).collect()
    }

    /// A configured server keeps its id; a built-in server of the same name gets another.
    /// In-process tools are exposed by their bare names, so no tool is renamed by that.
    fn builtins_by_id<'f>(
        &'f self,
        servers: &'f [Server],
    ) -> impl Iterator<Item = (ServerId, &'f BuiltinServer)> + 'f {
        self.residents.iter().map(move |resident| {
            let taken = |it: &Server| it.id.as_str().eq_ignore_ascii_case(resident.name);
            let name = if servers.iter().any(taken) {
                format!("builtin-{}", resident.name)
            } else {
                resident.name.to_owned()
            };
            (ServerId::parse(&name).expect("built-in servers have valid names"), resident)
        })
    }
}

impl BuiltinServer {
    fn new(server: builtin::Server, origin: BuiltinOrigin) -> Self {
        let name = server.name;
        let (backend, listing) = BuiltinBackend::new(server);
        Self { name, origin, backend: Arc::new(backend), listing }
    }

    fn code(backend: &Arc<dyn Backend>) -> Self {
        let tools =
            MetaTool::ALL.iter().map(|means| json::raw_value(&means.definition())).collect();
        Self {
            name: "code",
            origin: BuiltinOrigin::Code,
            backend: Arc::clone(backend),
            listing: ServerListing { tools, ..ServerListing::default() },
        }
    }
}

fn rules(server: &Server) -> ServerRules {
    ServerRules {
        trusted: server.trusted,
        trust: server.trust,
        timeout: server.timeout,
        slow: server.slow_response.clone(),
        allow: server.allow.clone(),
        deny: server.deny.clone(),
        tools: server.tools.clone(),
        reach: server.reach,
        ..ServerRules::new(server.id.clone(), ServerOrigin::Upstream)
    }
}

fn builtin_rules(server: ServerId) -> ServerRules {
    ServerRules {
        trusted: true,
        timeout: BUILTIN_TIMEOUT,
        ..ServerRules::new(server, ServerOrigin::Builtin)
    }
}

/// The effects of a program are those of its calls, each of which is checked on its own.
fn code_rules(server: ServerId) -> ServerRules {
    let judged_by_its_calls = ToolOverride {
        approval: Some(ApprovalMode::Never),
        idempotent: Some(false),
        ..ToolOverride::default()
    };
    let tool = |means: &MetaTool| (ToolName::new(means.name()), judged_by_its_calls.clone());
    ServerRules {
        reach: ToolReach::Means,
        timeout: PROGRAM_TIMEOUT,
        tools: MetaTool::ALL.iter().map(tool).collect(),
        ..builtin_rules(server)
    }
}
