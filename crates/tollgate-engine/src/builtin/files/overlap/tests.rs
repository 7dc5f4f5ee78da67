//! Bases that would put our own files within reach.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::overlaps;
use crate::builtin::scratch::ScratchDir;

#[test]
fn b_fp_11_a_base_that_holds_config_or_data_is_found() {
    let scratch = ScratchDir::new();
    let home = scratch.path();
    let config = home.join("tollgate.yaml");
    let data = home.join("data");
    fs::write(&config, "").unwrap();
    fs::create_dir(&data).unwrap();
    symlink(home, home.join("data/home")).unwrap();
    let others: [&Path; 2] = [&config, &data];

    assert_eq!(overlaps(home, &others), Some(&*config));
    assert_eq!(overlaps(&home.join("."), &others), Some(&*config));
    assert_eq!(overlaps(&data, &others), Some(&*data));
    assert_eq!(overlaps(&home.join("missing/.."), &others), Some(&*config));
    assert_eq!(overlaps(&home.join("data/home"), &others), Some(&*config), "through a link");
    assert_eq!(overlaps(Path::new("/"), &others), Some(&*config));
}

#[test]
fn b_fp_11_a_base_beside_or_below_them_is_fine() {
    let scratch = ScratchDir::new();
    let home = scratch.path();
    let config = home.join("tollgate.yaml");
    let data = home.join("data");
    let others: [&Path; 2] = [&config, &data];
    for base in ["files", "data/files", "data-evil", "dat", "tollgate.yaml.d", "data/../files"] {
        assert_eq!(overlaps(&home.join(base), &others), None, "{base}");
    }
}

#[test]
fn b_fp_11_files_that_do_not_exist_yet_are_judged_by_name() {
    let scratch = ScratchDir::new();
    let base = scratch.path().join("files");
    let audit = base.join("audit/log.db");
    assert_eq!(overlaps(&base, &[&audit]), Some(&*audit));
    let beside = scratch.path().join("files-other/log.db");
    assert_eq!(overlaps(&base, &[&beside]), None);
}
