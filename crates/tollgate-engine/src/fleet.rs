//! The servers that run for one config, in this process and elsewhere. Says what of them stays,
//! starts and ends when the config changes; whoever asks carries it out.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tollgate_core::catalog::{Listing, Origin, Rules};
use tollgate_core::code::Means;
use tollgate_core::id::{ServerId, ToolName};
use tollgate_core::json;
use tollgate_core::tool::{Approval, Override, Reach};
use tollgate_core::trust::Policy;

use crate::backend::Backend;
use crate::builtin;
use crate::builtin::Surroundings;
use crate::builtin::backend::BuiltinBackend;
use crate::builtin::stamp::Stamp;
use crate::settings::{Builtin, Server, Settings, Transport};
use crate::upstream::{Context, Upstream};
use crate::watches::Watched;

const BUILTIN_TIMEOUT: Duration = Duration::from_secs(10);
/// With all that people take to agree to its calls. Its own time is the sandbox's, and less.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(3_600);

pub(crate) struct Fleet {
    context: Context,
    /// What the residents that ship were made by, and how their files stood.
    builtin: Builtin,
    stamp: Stamp,
    around: Surroundings,
    /// Those that ship, then those that an embedding program brought.
    residents: Vec<Resident>,
    /// What runs programs; a resident where there is code mode.
    programs: Arc<dyn Backend>,
    upstreams: Vec<(Server, Arc<Upstream>)>,
    /// The gateway's own files as of the last launch.
    closed_to_servers: Vec<PathBuf>,
}

/// What servers in this process are made of, beside their settings.
pub(crate) struct Residents {
    /// Those of an embedding program.
    pub(crate) brought: Vec<builtin::Server>,
    /// What runs programs.
    pub(crate) programs: Arc<dyn Backend>,
    pub(crate) around: Surroundings,
}

/// A server in this process.
struct Resident {
    name: &'static str,
    origin: Made,
    backend: Arc<dyn Backend>,
    listing: Listing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    Shipped,
    Brought,
    /// The means of code mode.
    Code,
}

/// The residents that ship, and what they were made by.
pub(crate) struct Shipped {
    builtin: Builtin,
    stamp: Stamp,
    servers: Vec<builtin::Server>,
}

impl Shipped {
    fn read(settings: &Builtin, around: &Surroundings) -> Self {
        // Before the files are read: what changes meanwhile is seen the next time.
        let stamp = Stamp::of(settings);
        let servers = builtin::table::servers(settings, around);
        Self { builtin: settings.clone(), stamp, servers }
    }
}

/// What became of the servers, by their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Turnover {
    pub added: Vec<ServerId>,
    pub removed: Vec<ServerId>,
    /// Those that run by other settings now, and had to be started again.
    pub restarted: Vec<ServerId>,
    pub kept: Vec<ServerId>,
}

impl Fleet {
    /// Residents only: [`Fleet::launch`] starts the others.
    pub(crate) fn new(context: Context, settings: &Settings, residents: Residents) -> Self {
        let Residents { brought, programs, around } = residents;
        let Shipped { builtin, stamp, servers } = Shipped::read(&settings.builtin, &around);
        let shipped = servers.into_iter().map(|it| Resident::new(it, Made::Shipped));
        let brought = brought.into_iter().map(|it| Resident::new(it, Made::Brought));
        let code = settings.has_code_mode().then(|| Resident::code(&programs));
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

    /// Those residents that would be others by these settings, or by how their files stand now;
    /// `None`: all stay as they are. Files are read where it holds up nobody.
    pub(crate) async fn renewed(&self, settings: &Builtin) -> Option<Shipped> {
        let known = (self.builtin == *settings).then(|| self.stamp.clone());
        let (settings, around) = (settings.clone(), self.around.clone());
        let renewed = tokio::task::spawn_blocking(move || match known {
            Some(known) if known == Stamp::of(&settings) => None,
            _ => Some(Shipped::read(&settings, &around)),
        });
        renewed.await.ok().flatten()
    }

    /// How the files of built-in tools stand, if they changed since they were read.
    pub(crate) async fn changed_files(&self) -> Option<Stamp> {
        let settings = self.builtin.clone();
        let stamp = tokio::task::spawn_blocking(move || Stamp::of(&settings)).await.ok()?;
        (stamp != self.stamp).then_some(stamp)
    }

    /// Puts residents in the place of those that were.
    pub(crate) fn refurnish(&mut self, settings: &Settings, renewed: Option<Shipped>) {
        self.residents.retain(|it| it.origin != Made::Code);
        if settings.has_code_mode() {
            self.residents.push(Resident::code(&self.programs));
        }
        let Some(Shipped { builtin, stamp, servers }) = renewed else { return };
        (self.builtin, self.stamp) = (builtin, stamp);
        let shipped = servers.into_iter().map(|it| Resident::new(it, Made::Shipped));
        let stay = self.residents.drain(..).filter(|it| it.origin != Made::Shipped);
        self.residents = shipped.chain(stay).collect();
    }

    /// Starts what is new in `servers`, keeps what is not, and gives back those that are to end.
    /// The registry must know the new ones by now, or it would not hear them.
    pub(crate) fn launch(&mut self, servers: &[Server]) -> (Turnover, Vec<Arc<Upstream>>) {
        let mut running: HashMap<ServerId, (Server, Arc<Upstream>)> =
            self.upstreams.drain(..).map(|it| (it.0.id.clone(), it)).collect();
        let (mut turnover, mut ending) = (Turnover::default(), Vec::new());
        let private = self.private_files();
        for server in servers {
            let id = server.id.clone();
            let upstream = match running.remove(&id) {
                Some((was, upstream)) if self.runs_on(server, &was, &private) => {
                    turnover.kept.push(id);
                    upstream
                }
                before => {
                    let list = match before {
                        Some(_) => &mut turnover.restarted,
                        None => &mut turnover.added,
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
            turnover.removed.push(id);
            ending.push(upstream);
        }
        turnover.removed.sort();
        self.closed_to_servers = private;
        (turnover, ending)
    }

    /// Whether a server that was started as `was` may go on as `server`. What became private since
    /// then is still open to a child.
    fn runs_on(&self, server: &Server, was: &Server, private: &[PathBuf]) -> bool {
        let is_child = matches!(server.transport, Transport::Stdio(_));
        server.runs_like(was) && (!is_child || private == self.closed_to_servers)
    }

    fn private_files(&self) -> Vec<PathBuf> {
        let launcher = self.context.launcher.as_ref();
        launcher.map(|launcher| launcher.private.paths()).unwrap_or_default()
    }

    /// Servers that would have to be started again to run as `servers` says.
    pub(crate) fn outdated(&self, servers: &[Server]) -> Vec<ServerId> {
        let private = self.private_files();
        let is_other = |server: &&Server| {
            let running = self.upstreams.iter().find(|(was, _)| was.id == server.id);
            running.is_some_and(|(was, _)| !self.runs_on(server, was, &private))
        };
        servers.iter().filter(is_other).map(|server| server.id.clone()).collect()
    }

    /// In the order of the config, residents first.
    pub(crate) fn rules(&self, servers: &[Server], usual: Policy) -> Vec<Arc<Rules>> {
        let residents = self.named(servers).map(|(id, it)| {
            let rules = match it.origin {
                Made::Shipped | Made::Brought => resident_rules(id),
                Made::Code => code_rules(id),
            };
            // Their definitions are ours; what they do may still be asked for by a stranger.
            let trust = Policy { taint: usual.taint, ..rules.trust };
            Rules { trust, ..rules }
        });
        residents.chain(servers.iter().map(rules)).map(Arc::new).collect()
    }

    pub(crate) fn listings(&self, servers: &[Server]) -> Vec<(ServerId, Listing)> {
        self.named(servers).map(|(id, resident)| (id, resident.listing.clone())).collect()
    }

    pub(crate) fn backends(&self) -> HashMap<ServerId, Arc<dyn Backend>> {
        let servers: Vec<Server> =
            self.upstreams.iter().map(|(server, _)| server.clone()).collect();
        let residents = self.named(&servers).map(|(id, it)| (id, Arc::clone(&it.backend)));
        let upstreams = self.upstreams.iter().map(|(server, upstream)| {
            let backend: Arc<dyn Backend> = Arc::<Upstream>::clone(upstream);
            (server.id.clone(), backend)
        });
        residents.collect::<Vec<_>>().into_iter().chain(upstreams).collect()
    }

    pub(crate) fn watched(&self) -> HashMap<ServerId, Arc<dyn Watched>> {
        let watched = self.upstreams.iter().map(|(server, upstream)| {
            let watched: Arc<dyn Watched> = Arc::<Upstream>::clone(upstream);
            (server.id.clone(), watched)
        });
        watched.collect()
    }

    pub(crate) fn upstreams(&self) -> Vec<Arc<Upstream>> {
        self.upstreams.iter().map(|(_, upstream)| Arc::clone(upstream)).collect()
    }

    /// Residents, and how many tools each has.
    pub(crate) fn counted(&self, servers: &[Server]) -> Vec<(ServerId, usize)> {
        self.named(servers).map(|(id, it)| (id, it.listing.tools.len())).collect()
    }

    /// A configured server keeps its id; a resident of the same name steps aside. Tools in process
    /// are exposed under their bare names, so no tool changes its name by that.
    fn named<'f>(
        &'f self,
        servers: &'f [Server],
    ) -> impl Iterator<Item = (ServerId, &'f Resident)> + 'f {
        self.residents.iter().map(move |resident| {
            let taken = |it: &Server| it.id.as_str().eq_ignore_ascii_case(resident.name);
            let name = match servers.iter().any(taken) {
                true => format!("builtin-{}", resident.name),
                false => resident.name.to_owned(),
            };
            (ServerId::parse(&name).expect("built-in servers have valid names"), resident)
        })
    }
}

impl Resident {
    fn new(server: builtin::Server, origin: Made) -> Self {
        let name = server.name;
        let (backend, listing) = BuiltinBackend::new(server);
        Self { name, origin, backend: Arc::new(backend), listing }
    }

    fn code(backend: &Arc<dyn Backend>) -> Self {
        let tools = Means::ALL.iter().map(|means| json::raw_value(&means.definition())).collect();
        Self {
            name: "code",
            origin: Made::Code,
            backend: Arc::clone(backend),
            listing: Listing { tools, ..Listing::default() },
        }
    }
}

fn rules(server: &Server) -> Rules {
    Rules {
        trusted: server.trusted,
        trust: server.trust,
        timeout: server.timeout,
        slow: server.slow_response.clone(),
        allow: server.allow.clone(),
        deny: server.deny.clone(),
        tools: server.tools.clone(),
        reach: server.reach,
        ..Rules::new(server.id.clone(), Origin::Upstream)
    }
}

fn resident_rules(server: ServerId) -> Rules {
    Rules { trusted: true, timeout: BUILTIN_TIMEOUT, ..Rules::new(server, Origin::Builtin) }
}

/// Whatever a program does is done by its calls, and each of those is judged by itself.
fn code_rules(server: ServerId) -> Rules {
    let judged_by_its_calls = Override {
        approval: Some(Approval::Never),
        idempotent: Some(false),
        ..Override::default()
    };
    let tool = |means: &Means| (ToolName::new(means.name()), judged_by_its_calls.clone());
    Rules {
        reach: Reach::Means,
        timeout: PROGRAM_TIMEOUT,
        tools: Means::ALL.iter().map(tool).collect(),
        ..resident_rules(server)
    }
}
