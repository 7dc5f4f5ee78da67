//! Name bindings of a program: one global per server; a tool's value is created on access, so that
//! thousands of tools cost nothing. Calls are in `calls`.

#![expect(
    unsafe_code,
    unused_qualifications,
    reason = "what the interpreter's macros derive for a value of its"
)]

use std::fmt::{self, Display};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use allocative::Allocative;
use starlark::environment::Module;
use starlark::starlark_simple_value;
use starlark::values::{
    Heap, NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value,
    starlark_value,
};
use tollgate_sandbox::frames::Names;

/// The server on which a tool was last not found: the interpreter's message does not name it.
#[derive(Debug, Clone, Allocative)]
pub(crate) struct MissedServer(Arc<AtomicUsize>);

impl MissedServer {
    pub(crate) fn server<'a>(&self, names: &'a Names) -> Option<&'a (String, Vec<String>)> {
        names.get(self.0.load(Ordering::Relaxed))
    }
}

/// Binds every server as a global.
pub(crate) fn bind(module: &Module<'_>, names: &Arc<Names>) -> MissedServer {
    // Not a valid index.
    let missed = MissedServer(Arc::new(AtomicUsize::new(usize::MAX)));
    let mut first = 0;
    for (place, (name, tools)) in names.iter().enumerate() {
        let server =
            StarlarkServer { names: Arc::clone(names), place, first, missed: missed.clone() };
        module.set(name, module.heap().alloc(server));
        first += u32::try_from(tools.len()).expect("a frame holds fewer names");
    }
    missed
}

#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct StarlarkServer {
    #[allocative(skip)]
    names: Arc<Names>,
    place: usize,
    /// Index of its first tool among all tools.
    first: u32,
    missed: MissedServer,
}

starlark_simple_value!(StarlarkServer);

impl StarlarkServer {
    fn tools(&self) -> &[String] {
        &self.names[self.place].1
    }
}

impl Display for StarlarkServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<server {}>", self.names[self.place].0)
    }
}

#[starlark_value(type = "server")]
impl<'v> StarlarkValue<'v> for StarlarkServer {
    fn get_attr(&self, attribute: &str, heap: Heap<'v>) -> Option<Value<'v>> {
        let Some(place) = self.tools().iter().position(|tool| tool == attribute) else {
            self.missed.0.store(self.place, Ordering::Relaxed);
            return None;
        };
        let names = Arc::clone(&self.names);
        Some(heap.alloc(StarlarkTool { names, server: self.place, place, first: self.first }))
    }

    fn has_attr(&self, attribute: &str, _heap: Heap<'v>) -> bool {
        self.tools().iter().any(|tool| tool == attribute)
    }

    fn dir_attr(&self) -> Vec<String> {
        self.tools().to_vec()
    }
}

#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct StarlarkTool {
    #[allocative(skip)]
    names: Arc<Names>,
    server: usize,
    /// Index among its server's tools.
    place: usize,
    first: u32,
}

starlark_simple_value!(StarlarkTool);

impl StarlarkTool {
    /// Index among the tools of all servers.
    pub(crate) fn number(&self) -> u32 {
        self.first + u32::try_from(self.place).expect("a frame holds fewer names")
    }
}

/// The tool's name as written in a program.
pub(crate) struct QualifiedToolName<'a>(pub(crate) &'a StarlarkTool);

impl Display for QualifiedToolName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (server, tools) = &self.0.names[self.0.server];
        write!(f, "{server}.{}", tools[self.0.place])
    }
}

impl Display for StarlarkTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<tool {}>", QualifiedToolName(self))
    }
}
