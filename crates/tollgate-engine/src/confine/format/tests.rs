use super::*;

#[test]
fn a_program_for_another_machine_is_none() {
    let elf = |machine: u8| {
        let mut head = [0; 20];
        head[..4].copy_from_slice(ELF);
        head[18] = machine;
        head
    };
    let amd64 = elf(62);
    let arm64 = elf(183);
    let i386 = elf(3);
    let mips = elf(8);
    assert!(fits(&amd64, &amd64));
    assert!(fits(&i386, &amd64));
    assert!(!fits(&arm64, &amd64));
    assert!(!fits(&mips, &arm64));
}

#[test]
fn scripts_and_our_own_binary_can_be_run() {
    assert_eq!(check(Path::new("/proc/self/exe")), Ok(()));
    let place = tempfile::TempDir::new().unwrap();
    let file = |content: &str| {
        let path = place.path().join("file");
        std::fs::write(&path, content).unwrap();
        check(&path)
    };
    assert_eq!(file("#!/bin/sh\n"), Ok(()));
    assert_eq!(check(Path::new("/no/such/file")), Ok(()), "the kernel says it better");
}
