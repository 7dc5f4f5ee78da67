//! B-CF-11: what may stand where the config file should be.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::super::{ConfigOrigin, ConfigReport, ConfigRequest, LoadedConfig, Severity, load};
use super::Fake;

fn read(path: &Path) -> Result<LoadedConfig, ConfigReport> {
    let request = ConfigRequest { file: Some(path.to_owned()), ..ConfigRequest::default() };
    load(&request, &Fake::default())
}

fn why(path: &Path) -> String {
    let report = read(path).unwrap_err();
    report.diagnostics[0].message.clone()
}

#[test]
fn b_cf_11_only_a_readable_regular_file_is_a_config() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    assert!(why(&at("missing")).starts_with("cannot read the config: No such file"));
    assert_eq!(why(folder.path()), "cannot read the config: it is a directory");

    fs::write(at("good.yaml"), "environment: one\n").unwrap();
    let loaded = read(&at("good.yaml")).unwrap();
    assert_eq!(loaded.config.settings.environment, "one");
    assert_eq!(loaded.config.origin, ConfigOrigin::File(at("good.yaml")));

    fs::write(at("huge.yaml"), vec![b'#'; 5 * 1024 * 1024]).unwrap();
    assert_eq!(why(&at("huge.yaml")), "the config is larger than 1 MiB");

    fs::write(at("half.yaml"), "servers:\n  a:\n    command: [\"x\", \"y").unwrap();
    assert!(why(&at("half.yaml")).starts_with("this is not YAML"));

    for round in 0..20 {
        fs::write(at("good.yaml"), format!("environment: r{round}\n")).unwrap();
        let config = read(&at("good.yaml")).unwrap().config;
        assert_eq!(config.settings.environment, format!("r{round}"), "the content counts");
    }
}

#[cfg(unix)]
#[test]
fn b_cf_11_links_pipes_and_loose_permissions() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("good.yaml"), "environment: one\n").unwrap();
    symlink(at("good.yaml"), at("link.yaml")).unwrap();
    assert_eq!(read(&at("link.yaml")).unwrap().config.settings.environment, "one");
    symlink(at("nowhere"), at("broken.yaml")).unwrap();
    assert!(why(&at("broken.yaml")).starts_with("cannot read the config"));
    assert_eq!(why(Path::new("/dev/zero")), "cannot read the config: it is not a regular file");
    let made = std::process::Command::new("mkfifo").arg(at("pipe")).status();
    if made.is_ok_and(|status| status.success()) {
        assert_eq!(why(&at("pipe")), "cannot read the config: it is not a regular file");
    }

    fs::set_permissions(at("good.yaml"), fs::Permissions::from_mode(0o666)).unwrap();
    let loaded = read(&at("good.yaml")).unwrap();
    assert_eq!(loaded.report.count(Severity::Warning), 1);
    let message = &loaded.report.diagnostics[0].message;
    assert_eq!(message, "every user of this machine can change the config");
}
