//! Puts the admin page into the library: every file that the build of `ui/` left in `page/built`,
//! compressed as it is. Where there is none (no Node at hand), a note takes its place at run time.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

#[expect(clippy::disallowed_methods, reason = "how cargo speaks to a build script")]
fn main() -> Result<(), Box<dyn Error>> {
    // The directory itself is always there; a path that is missing would be looked for every time.
    println!("cargo:rerun-if-changed=page");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("page/built");
    let mut files = Vec::new();
    if root.is_dir() {
        collect(&root, &mut files)?;
    }
    files.sort();
    let mut table = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix(&root)?.to_str().ok_or("a name that is not UTF-8")?;
        let Some(name) = name.strip_suffix(".gz") else { continue };
        let mut hash = DefaultHasher::new();
        fs::read(&file)?.hash(&mut hash);
        let etag = format!("\"{:016x}\"", hash.finish());
        let path = file.display().to_string();
        writeln!(
            table,
            "File {{ path: {name:?}, etag: {etag:?}, gzip: include_bytes!({path:?}) }},"
        )?;
    }
    table.push(']');
    fs::write(Path::new(&env::var("OUT_DIR")?).join("page.rs"), table)?;
    Ok(())
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
