//! Checks whether the kernel can execute a file. The C library passes other files to a shell, and
//! no shell may run here. Used by the launcher only.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

const ENOEXEC: i32 = 8;
const ELF: &[u8] = b"\x7fELF";
/// Other executable formats that an administrator registered; `register` and `status` always exist.
const BINFMT_DIRECTORY: &str = "/proc/sys/fs/binfmt_misc";
/// ELF machines whose programs run on their 64-bit successor: 386 and Arm.
const ELDERS: [[u8; 2]; 2] = [[3, 0], [40, 0]];

/// Fails with the error that exec without a shell would give. An unreadable file is left to the
/// kernel.
pub(super) fn check(file: &Path) -> Result<(), i32> {
    let Some(head) = head(file) else { return Ok(()) };
    let own = head_of_ourselves();
    let known = head.starts_with(b"#!")
        || (head.starts_with(ELF) && own.is_none_or(|own| fits(&head, &own)))
        || std::fs::read_dir(BINFMT_DIRECTORY).is_ok_and(|entries| entries.count() > 2);
    if known { Ok(()) } else { Err(ENOEXEC) }
}

fn fits(head: &[u8; 20], own: &[u8; 20]) -> bool {
    let machine = |head: &[u8; 20]| [head[18], head[19]];
    machine(head) == machine(own) || ELDERS.contains(&machine(head))
}

fn head_of_ourselves() -> Option<[u8; 20]> {
    head(Path::new("/proc/self/exe"))
}

/// Padded with zeros.
fn head(file: &Path) -> Option<[u8; 20]> {
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(20).read_to_end(&mut bytes).ok()?;
    let mut head = [0; 20];
    head[..bytes.len()].copy_from_slice(&bytes);
    Some(head)
}

#[cfg(test)]
mod tests;
