use tollgate_core::call::Outcome;
use tollgate_core::lease::{LeaseTerm, RevocableLease, RevokedError};
use tollgate_core::shaping;

use super::*;
use crate::builtin::files;
use crate::builtin::scratch::ScratchDir;
use crate::results::{RESULT_LIFE, StoredResult};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest of it";

fn actor(name: &str) -> Actor {
    Actor::endless(Principal::from_name(name))
}

/// A link of ada's to a picture with this content.
async fn link_file(links: &FileLinks, scratch: &ScratchDir, content: &[u8]) -> FileLink {
    let folder = files::folder(scratch.path());
    let link = links.issue(&actor("ada")).unwrap();
    folder.save("images/a.png", content.to_vec(), 1 << 20).await.unwrap();
    links.complete(&link, folder, "images/a.png".to_owned(), content.len());
    link
}

fn results() -> Arc<ResultStore> {
    ResultStore::new(Arc::new(SystemClock), Arc::new(SystemRandom))
}

async fn open(links: &FileLinks, link: &FileLink) -> String {
    match links.open(&link.0, &results()).await {
        LinkedFile::Unknown => "unknown".to_owned(),
        LinkedFile::Pending => "pending".to_owned(),
        LinkedFile::Busy => "busy".to_owned(),
        LinkedFile::Ready { media_type, content } => format!("{media_type} {}", content.len()),
    }
}

#[tokio::test(start_paused = true)]
async fn a_link_opens_its_picture_for_fifteen_minutes() {
    let links = FileLinks::default();
    let scratch = ScratchDir::new();
    let pending = links.issue(&actor("ada")).unwrap();
    assert_eq!(open(&links, &pending).await, "pending");
    let link = link_file(&links, &scratch, PNG).await;
    assert_eq!(open(&links, &link).await, "image/png 18");
    tokio::time::advance(LINK_LIFE - Duration::from_secs(1)).await;
    assert_eq!(open(&links, &link).await, "image/png 18");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(open(&links, &link).await, "unknown");
    assert_eq!(open(&links, &pending).await, "unknown", "a picture that was never made");
    links.issue(&actor("ada")).unwrap();
    assert_eq!(links.links.lock().len(), 1, "expired links are not kept");
}

#[tokio::test]
async fn ids_cannot_be_guessed_and_nothing_else_opens_a_file() {
    let links = FileLinks::default();
    let scratch = ScratchDir::new();
    let link = link_file(&links, &scratch, PNG).await;
    let other = links.issue(&actor("bob")).unwrap();
    assert_eq!(link.path().len(), "/v1/files/".len() + 64);
    assert!(link.0.bytes().all(|byte| byte.is_ascii_hexdigit()) && link != other);
    let upper = link.0.to_uppercase();
    let long = format!("{}0", link.0);
    for id in
        ["", ".", "..", "../images/a.png", "images/a.png", "a.png", &upper, &long, &link.0[1..]]
    {
        assert!(matches!(links.open(id, &results()).await, LinkedFile::Unknown), "{id}");
    }
}

#[tokio::test]
async fn only_a_picture_is_served_and_only_while_it_is_there() {
    let links = FileLinks::default();
    let scratch = ScratchDir::new();
    let link = link_file(&links, &scratch, PNG).await;
    for content in [&b"<svg onload='x'/>"[..], b"<html>", b"", &[PNG, PNG].concat()] {
        std::fs::write(scratch.path().join("images/a.png"), content).unwrap();
        assert_eq!(open(&links, &link).await, "unknown", "{content:?}");
    }
    std::fs::remove_file(scratch.path().join("images/a.png")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", scratch.path().join("images/a.png")).unwrap();
    assert_eq!(open(&links, &link).await, "unknown");
    links.withdraw(&link);
    assert_eq!(open(&links, &link).await, "unknown");
}

#[tokio::test]
async fn a_link_ends_with_the_credentials_of_its_owner() {
    let links = FileLinks::default();
    let scratch = ScratchDir::new();
    let term = LeaseTerm::new();
    let lease = RevocableLease::of([term.clone()]);
    let owner = Actor { principal: Principal::from_name("eve"), lease };
    let link = links.issue(&owner).unwrap();
    let folder = files::folder(scratch.path());
    folder.save("a.png", PNG.to_vec(), 1 << 20).await.unwrap();
    links.complete(&link, folder, "a.png".to_owned(), PNG.len());
    let adas = link_file(&links, &scratch, PNG).await;
    assert_eq!(open(&links, &link).await, "image/png 18");
    term.end(RevokedError::because("her key was revoked"));
    assert_eq!(open(&links, &link).await, "unknown");
    assert_eq!(open(&links, &adas).await, "image/png 18");
}

#[tokio::test(start_paused = true)]
async fn one_owner_cannot_take_the_links_of_another() {
    let links = FileLinks::default();
    let scratch = ScratchDir::new();
    let adas = link_file(&links, &scratch, PNG).await;
    let first = links.issue(&actor("bob")).unwrap();
    for _ in 0..MAX_LINKS_OF_OWNER {
        tokio::time::advance(Duration::from_millis(1)).await;
        links.issue(&actor("bob")).unwrap();
    }
    assert_eq!(open(&links, &first).await, "unknown", "the oldest gives way");
    assert_eq!(links.links.lock().len(), 1 + MAX_LINKS_OF_OWNER);
    let mut owners = (0..).map(|at| actor(&format!("owner {at}")));
    let refused = owners.by_ref().take(MAX_LINKS).find(|owner| links.issue(owner).is_none());
    assert!(refused.is_some() && links.links.lock().len() == MAX_LINKS);
    assert_eq!(open(&links, &adas).await, "image/png 18");
}

#[tokio::test(start_paused = true)]
async fn a_picture_of_a_result_opens_as_long_as_its_owner_has_the_result() {
    let links = FileLinks::default();
    let results = results();
    let term = LeaseTerm::new();
    let lease = RevocableLease::of([term.clone()]);
    let owner = Actor { principal: Principal::from_name("eve"), lease };
    let handle = results.spare(100).unwrap();
    let text = r#"{"content":[{"type":"text","text":"x"},{"type":"image","data":"R0lGODlhAA=="}]}"#;
    let outcome = Outcome {
        handle: Some(handle),
        result: tollgate_core::json::raw(text.to_owned()),
        ..shaping::gateway_answer("")
    };
    let keep = || {
        let outcome = outcome.clone();
        results
            .keep(&owner, StoredResult { tool: String::new(), outcome, page_bytes: 1, raw: None });
    };
    keep();
    let opened = async |link: &FileLink| match links.open(&link.0, &results).await {
        LinkedFile::Ready { media_type, .. } => media_type,
        _ => "unknown",
    };
    let link = links.issue_for_result(&owner, handle, 1).unwrap();
    assert_eq!(opened(&link).await, "image/gif");
    let text = links.issue_for_result(&owner, handle, 0).unwrap();
    let beyond = links.issue_for_result(&owner, handle, 2).unwrap();
    let stolen = links.issue_for_result(&actor("bob"), handle, 1).unwrap();
    for link in [&text, &beyond, &stolen] {
        assert_eq!(opened(link).await, "unknown");
    }
    tokio::time::advance(RESULT_LIFE).await;
    assert_eq!(opened(&link).await, "unknown");
    keep();
    let link = links.issue_for_result(&owner, handle, 1).unwrap();
    assert_eq!(opened(&link).await, "image/gif");
    term.end(RevokedError::because("her key was revoked"));
    assert_eq!(opened(&link).await, "unknown");
}
