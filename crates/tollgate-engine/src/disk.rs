//! Small persistent files, readable by this user only.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Atomic replacement: written to a temporary file and renamed, so that a crash leaves either the
/// old or the new file, complete.
pub(crate) fn write_beside(file: &Path, text: &str) -> io::Result<()> {
    let beside = file.with_extension("json.new");
    // A file left by a crash may be readable by others.
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = fs::OpenOptions::new();
    let mut written = options.write(true).create_new(true).mode(0o600).open(&beside)?;
    written.write_all(text.as_bytes())?;
    written.sync_all()?;
    fs::rename(&beside, file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::{fs, write_beside};

    #[test]
    fn files_are_replaced_whole_and_private() {
        let name = format!("tollgate-{:016x}.json", rand::random::<u64>());
        let file = std::env::temp_dir().join(name);
        fs::write(file.with_extension("json.new"), "left behind").unwrap();
        for text in ["one", "another, longer", "3"] {
            write_beside(&file, text).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!file.with_extension("json.new").exists());
        fs::remove_file(&file).unwrap();
    }
}
