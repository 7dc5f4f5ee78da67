use super::*;
use tollgate_core::id::ServerId;
use tollgate_core::json::raw;

fn mailbox() -> Mailbox {
    Mailbox::new(Arc::new(ServerLog::new(ServerId::parse("server").unwrap(), Vec::new())))
}

#[tokio::test]
async fn b_io_9_a_hundred_thousand_notices_are_one_mail() {
    let mailbox = mailbox();
    let params = raw(r#"{"uri":"a:1"}"#.to_owned());
    for _ in 0..50_000 {
        mailbox.on_notification("notifications/tools/list_changed", None);
        mailbox.on_notification("notifications/resources/updated", Some(&params));
    }
    mailbox.wait_for_mail().await;
    let mail = mailbox.take();
    assert!(mail.changed);
    assert_eq!(mail.updated, BTreeSet::from(["a:1".to_owned()]));
    assert_eq!(mailbox.take(), MailboxContents::default());
}

#[test]
fn the_set_of_updated_resources_is_bounded() {
    let mailbox = mailbox();
    for at in 0..MAX_CHANGED_RESOURCES + 10 {
        let params = raw(format!(r#"{{"uri":"a:{at}"}}"#));
        mailbox.on_notification("notifications/resources/updated", Some(&params));
    }
    assert_eq!(mailbox.take().updated.len(), MAX_CHANGED_RESOURCES);
}

#[test]
fn garbage_and_log_messages_show_in_the_log() {
    let mailbox = mailbox();
    mailbox.on_garbage("Server listening on stdio");
    mailbox.on_notification("notifications/message", Some(&raw(r#"{"data":"hi"}"#.to_owned())));
    mailbox.on_notification("notifications/unheard/of", None);
    assert_eq!(mailbox.log.lines(), ["Server listening on stdio", r#"{"data":"hi"}"#]);
    assert_eq!(mailbox.take(), MailboxContents { garbage: 1, ..MailboxContents::default() });
}
