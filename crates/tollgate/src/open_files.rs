//! Limit on open files (`RLIMIT_NOFILE`), and the number of connections that it allows.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tollgate_server::Limits;

/// Reserved for descriptors other than client connections: databases, servers, their pipes.
const RESERVED_FILES: u64 = 128;
/// Lower bound, however low the limit is.
const MIN_CONNECTIONS: usize = 16;

/// Raises the soft limit to the hard limit. Many systems start processes with far less.
pub fn raise() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        // On failure the lower limit stays.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}

/// Limits the connections to the available descriptors. A client connection may need another one to
/// a server or a provider.
pub fn fit(limits: Limits) -> Limits {
    let files = getrlimit(Resource::Nofile).current;
    match files {
        Some(files) => within(limits, files),
        None => limits,
    }
}

fn within(limits: Limits, files: u64) -> Limits {
    let most = files.saturating_sub(RESERVED_FILES) / 4 * 3;
    let most = usize::try_from(most).unwrap_or(usize::MAX).max(MIN_CONNECTIONS);
    if limits.connections <= most {
        return limits;
    }
    tracing::warn!(
        connections = most,
        open_files = files,
        "fewer connections than configured: the limit of open files is too low"
    );
    let per_address = limits.connections_per_address.min(most.div_ceil(2));
    Limits { connections: most, connections_per_address: per_address, ..limits }
}

#[cfg(test)]
mod tests {
    use tollgate_server::Limits;

    use super::within;

    #[test]
    fn r_13_connections_leave_files_for_everything_else() {
        let of = |files| within(Limits::default(), files);
        assert_eq!(of(1 << 20).connections, Limits::default().connections);
        let few = of(1_024);
        assert_eq!((few.connections, few.connections_per_address), (672, 336));
        assert_eq!(of(10).connections, 16);
    }
}
