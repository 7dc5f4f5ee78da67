//! Failpoints: places where a test can inject a panic to check that it is contained. In a release
//! build [`hit`] does nothing.

#[cfg(debug_assertions)]
mod armed {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use parking_lot::Mutex;

    static COUNT: AtomicUsize = AtomicUsize::new(0);
    static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());

    pub(super) fn arm(name: &str) {
        NAMES.lock().push(name.to_owned());
        COUNT.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn is_any() -> bool {
        COUNT.load(Ordering::Relaxed) != 0
    }

    pub(super) fn hit(name: &str) {
        if !is_any() {
            return;
        }
        let mut names = NAMES.lock();
        let Some(at) = names.iter().position(|armed| armed == name) else { return };
        names.swap_remove(at);
        COUNT.fetch_sub(1, Ordering::SeqCst);
        drop(names);
        panic!("failpoint `{name}`");
    }
}

/// The next [`hit`] of this name panics, once.
#[cfg(debug_assertions)]
pub fn arm(name: &str) {
    armed::arm(name);
}

#[inline]
pub fn hit(name: &str) {
    #[cfg(debug_assertions)]
    armed::hit(name);
    #[cfg(not(debug_assertions))]
    let _ = name;
}

/// Variant for concurrent hits, such as streams of different paths. The armed name is `NAME PLACE`,
/// so that only that place panics.
#[inline]
pub fn hit_at(name: &str, place: &str) {
    #[cfg(debug_assertions)]
    if armed::is_any() {
        armed::hit(&format!("{name} {place}"));
    }
    #[cfg(not(debug_assertions))]
    let _ = (name, place);
}

#[cfg(all(test, debug_assertions))]
mod tests {
    #[test]
    fn a_point_panics_once_and_only_when_it_was_armed() {
        super::hit("core test");
        super::arm("core test");
        super::hit("another");
        assert!(std::panic::catch_unwind(|| super::hit("core test")).is_err());
        super::hit("core test");
        super::arm("core test /here");
        super::hit("core test");
        super::hit_at("core test", "/there");
        assert!(std::panic::catch_unwind(|| super::hit_at("core test", "/here")).is_err());
    }
}
