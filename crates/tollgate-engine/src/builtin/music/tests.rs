//! The tools, with listeners and without.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tollgate_core::id::AgentId;
use tollgate_core::memory::{MemoryName, MemoryScope, Namespace};

use super::library::{MusicLibrary, MusicLibraryError};
use super::webhook::Webhook;
use super::{MusicContext, NowPlaying, tools};
use crate::builtin::scratch::ScratchDir;
use crate::builtin::{BuiltinReply, BuiltinTool, BuiltinToolContext, BuiltinToolError};
use crate::notices::{Notice, Notices};

const TRACKS: &str = "\
tracks:
  - { title: Drums, file: drums.ogg, moods: [battle], length_s: 90 }
  - { title: Rain, url: \"https://music.example/rain.mp3\", moods: [calm] }
";

fn library() -> Result<MusicLibrary, MusicLibraryError> {
    let scratch = ScratchDir::new();
    let path = scratch.path().join("music.yaml");
    std::fs::write(&path, TRACKS).unwrap();
    let (library, flaws) = MusicLibrary::read(&path);
    assert_eq!(flaws, []);
    library
}

fn stage(notices: &Notices) -> MusicContext {
    MusicContext {
        library: library(),
        webhook: None,
        playing: NowPlaying::default(),
        notices: notices.clone(),
        random: Arc::new(|_| 1),
    }
}

fn of(campaign: &str) -> BuiltinToolContext {
    let agent = AgentId::parse("bard").unwrap();
    let namespace = Namespace::of(None, &MemoryName::parse(campaign).unwrap());
    BuiltinToolContext {
        scope: MemoryScope::of_agent(namespace, agent),
        ..BuiltinToolContext::local()
    }
}

async fn play(
    tools: &[Box<dyn BuiltinTool>],
    mood: &str,
    asker: &BuiltinToolContext,
) -> Result<BuiltinReply, BuiltinToolError> {
    let arguments = json!({ "mood": mood });
    tools[0].call(arguments.as_object().unwrap(), asker).await
}

async fn stop(tools: &[Box<dyn BuiltinTool>], asker: &BuiltinToolContext) -> BuiltinReply {
    tools[1].call(&Map::new(), asker).await.unwrap()
}

#[tokio::test]
async fn listeners_hear_what_is_to_be_played_and_where() {
    let notices = Notices::default();
    let mut receiver = notices.listen();
    let tools = tools(stage(&notices));
    let reply = play(&tools, "battle", &of("waterdeep")).await.unwrap();
    assert_eq!(reply.text, "Playing “Drums”, for the mood battle.");
    let drums =
        json!({ "title": "Drums", "file": "drums.ogg", "moods": ["battle"], "length_s": 90 });
    assert_eq!(
        reply.structured.unwrap(),
        json!({ "listeners": 1, "webhook": "none", "track": drums, "mood": "battle" })
    );
    let notice = receiver.recv().await.unwrap();
    let Notice::Music { namespace, played, .. } = &*notice else { panic!("{notice:?}") };
    assert_eq!(namespace.as_str(), "waterdeep");
    assert_eq!(played.as_ref().unwrap(), &(drums, "battle".to_owned()));
}

#[tokio::test]
async fn each_namespace_has_its_own_music() {
    let notices = Notices::default();
    let _receiver = notices.listen();
    let tools = tools(stage(&notices));
    let one = of("one");
    let two = of("two");
    play(&tools, "calm", &one).await.unwrap();
    assert_eq!(stop(&tools, &two).await.text, "Nothing was playing.");
    let stopped = stop(&tools, &one).await;
    assert_eq!(stopped.text, "Stopped “Rain”.");
    assert_eq!(stopped.structured.unwrap()["stopped"]["url"], "https://music.example/rain.mp3");
    assert_eq!(stop(&tools, &one).await.text, "Nothing was playing.");
}

#[tokio::test]
async fn a_player_that_is_silent_here_is_told_to_stop_all_the_same() {
    let notices = Notices::default();
    let mut receiver = notices.listen();
    stop(&tools(stage(&notices)), &BuiltinToolContext::local()).await;
    let notice = receiver.recv().await.unwrap();
    assert!(matches!(&*notice, Notice::Music { played: None, .. }), "{notice:?}");
}

#[tokio::test]
async fn music_that_nobody_plays_is_a_failure() {
    let tools_without = tools(stage(&Notices::default()));
    let failure = play(&tools_without, "battle", &BuiltinToolContext::local()).await.unwrap_err();
    assert_eq!(
        failure.message,
        "there is no music player: nothing listens to `/api/events`, and `builtin.music.webhook` \
         is not set"
    );
    // Somebody listens: that the webhook is broken is told, and fails nothing.
    let notices = Notices::default();
    let _receiver = notices.listen();
    let webhook = Webhook::new("http://127.0.0.1:9/").ok();
    let tools = tools(MusicContext { webhook, ..stage(&notices) });
    let body =
        play(&tools, "battle", &BuiltinToolContext::local()).await.unwrap().structured.unwrap();
    assert!(body["webhook"] == "failed" || body["webhook"] == "pending", "{body}");
}

#[tokio::test]
async fn bad_input_and_a_bad_library_are_told() {
    let notices = Notices::default();
    let _receiver = notices.listen();
    let good = tools(stage(&notices));
    for mood in ["opera", "", " ", "🎲", "\u{0}", &"battl ".repeat(20_000)] {
        let answer = play(&good, mood, &BuiltinToolContext::local()).await;
        let text = answer.map_or_else(|failure| failure.message, |reply| reply.text);
        assert!(text.len() < 300 && !text.contains('\u{0}'), "{text}");
    }
    let failure = play(&good, "opera", &BuiltinToolContext::local()).await.unwrap_err();
    assert_eq!(failure.message, "there is no music for `opera`; there is for: battle, calm");
    let nowhere = ScratchDir::new().path().join("music.yaml");
    let (library, flaws) = MusicLibrary::read(&nowhere);
    assert_eq!(flaws.len(), 1);
    let bad = tools(MusicContext { library, ..stage(&notices) });
    let failure = play(&bad, "battle", &BuiltinToolContext::local()).await.unwrap_err();
    assert!(failure.message.starts_with("the music library is invalid: `"), "{failure:?}");
}

#[test]
fn definitions_declare_latency_and_moods() {
    let tools = tools(stage(&Notices::default()));
    for tool in &tools {
        let definition = tool.definition();
        assert_eq!(
            definition["_meta"]["dev.tollgate/latency"],
            json!({ "estimatedDurationMs": 50, "maxDurationMs": 200 })
        );
        assert_eq!(definition["annotations"]["readOnlyHint"], Value::Bool(false));
    }
    let mood = tools[0].definition()["inputSchema"]["properties"]["mood"]["description"].clone();
    assert_eq!(mood, "The mood or scene. There is music for: battle, calm");
}
