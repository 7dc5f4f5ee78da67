use super::*;
use crate::settings::StdioCommand;

fn transport(words: &[&str]) -> ServerTransport {
    let words = words.iter().map(|&word| word.to_owned()).collect();
    ServerTransport::Stdio(StdioCommand::new(words))
}

fn listing() -> ServerListing {
    let item = |text: &str| json::raw(text.to_owned());
    ServerListing {
        tools: vec![item(r#"{"name":"a","x-vendor":1.50}"#), item(r#"{"name":"b"}"#)],
        prompts: vec![item(r#"{"name":"p"}"#)],
        ..ServerListing::default()
    }
}

struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("tollgate-{:016x}", rand::random::<u64>())))
    }

    fn stored(&self, words: &[&str]) -> ListingCache {
        ListingCache::new(&self.0, &ServerId::parse("lazy").unwrap(), &transport(words))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_was_saved_is_loaded_byte_for_byte() {
    let place = Place::new();
    let stored = place.stored(&["server"]);
    assert!(stored.load().is_none());
    stored.save(&listing()).unwrap();
    let loaded = stored.load().unwrap();
    assert!(super::super::listing::same(&loaded, &listing()));
    assert_eq!(loaded.tools[0].get(), r#"{"name":"a","x-vendor":1.50}"#);
}

#[test]
fn another_command_does_not_get_the_old_tools() {
    let place = Place::new();
    place.stored(&["server"]).save(&listing()).unwrap();
    assert!(place.stored(&["server", "--other"]).load().is_none());
    assert!(place.stored(&["ser", "ver"]).load().is_none());
    assert_eq!(place.stored(&["server"]).fingerprint.len(), 64);
}

#[test]
fn a_broken_file_counts_as_none() {
    let place = Place::new();
    let stored = place.stored(&["server"]);
    stored.save(&listing()).unwrap();
    for text in ["", "{", "[]", "{}", r#"{"server":1}"#] {
        fs::write(&stored.path, text).unwrap();
        assert!(stored.load().is_none(), "{text}");
    }
}
