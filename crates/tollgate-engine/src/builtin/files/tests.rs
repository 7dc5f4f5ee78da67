//! The file tools as a caller sees them.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::quota::Quota;
use super::{SandboxFolder, folder, tools};
use crate::builtin::scratch::ScratchDir;
use crate::builtin::{BuiltinReply, BuiltinTool, BuiltinToolContext, BuiltinToolError};

mod attacks;
mod paths;
mod pressure;

/// A sandbox `base` beside a folder `outside` with a secret in it.
struct World {
    scratch: ScratchDir,
    tools: Vec<Box<dyn BuiltinTool>>,
}

const SECRET: &str = "outside and not to be read";

impl World {
    fn new() -> Self {
        Self::with(Quota::DEFAULT)
    }

    fn with(quota: Quota) -> Self {
        let scratch = ScratchDir::new();
        fs::create_dir(scratch.path().join("outside")).unwrap();
        fs::write(scratch.path().join("outside/secret.txt"), SECRET).unwrap();
        let tools = tools(&SandboxFolder::within(&scratch.path().join("base"), quota));
        Self { scratch, tools }
    }

    /// With the base made already, for tests that put something into it by hand.
    fn with_base() -> Self {
        let world = Self::new();
        fs::create_dir(world.base()).unwrap();
        world
    }

    fn base(&self) -> PathBuf {
        self.scratch.path().join("base")
    }

    fn outside(&self) -> PathBuf {
        self.scratch.path().join("outside")
    }

    async fn write(&self, path: &str, content: &str) -> Result<BuiltinReply, BuiltinToolError> {
        self.call(0, json!({ "path": path, "content": content })).await
    }

    async fn read(&self, path: &str) -> Result<BuiltinReply, BuiltinToolError> {
        self.call(1, json!({ "path": path })).await
    }

    async fn call(&self, tool: usize, arguments: Value) -> Result<BuiltinReply, BuiltinToolError> {
        self.tools[tool].call(arguments.as_object().unwrap(), &BuiltinToolContext::local()).await
    }

    /// Neither can the path be read or written, nor does it change anything out there.
    async fn check_refused(&self, path: &str, reason: &str) {
        for result in [self.read(path).await, self.write(path, "evil").await] {
            let message = result.unwrap_err().message;
            assert!(message.contains(reason), "{path:?}: {message}");
            assert!(!message.contains(SECRET), "{path:?}: {message}");
            let home = self.scratch.path().to_str().unwrap();
            assert!(path.contains(home) || !message.contains(home), "{path:?}: {message}");
        }
        self.check_outside();
    }

    fn check_outside(&self) {
        let names: Vec<_> = self.outside().read_dir().unwrap().map(|e| e.unwrap().path()).collect();
        assert_eq!(names, [self.outside().join("secret.txt")]);
        assert_eq!(fs::read_to_string(&names[0]).unwrap(), SECRET);
    }
}

#[tokio::test]
async fn what_was_written_is_read_back() {
    let world = World::new();
    let reply = world.write("notes/today.md", "a gate\n").await.unwrap();
    assert_eq!(reply.text, "Wrote notes/today.md, 7 bytes.");
    assert_eq!(
        reply.structured,
        Some(json!({ "path": "notes/today.md", "bytes": 7, "created": true }))
    );
    let reply = world.read("notes/today.md").await.unwrap();
    assert_eq!(reply.text, "a gate\n");
    assert_eq!(
        reply.structured,
        Some(json!({ "path": "notes/today.md", "bytes": 7, "content": "a gate\n" }))
    );
}

#[tokio::test]
async fn a_second_write_replaces_the_whole_file() {
    let world = World::new();
    world.write("a", "long content").await.unwrap();
    let reply = world.write("a", "x").await.unwrap();
    assert_eq!(reply.text, "Replaced a, 1 byte.");
    assert_eq!(reply.structured.unwrap()["created"], false);
    assert_eq!(fs::read_to_string(world.base().join("a")).unwrap(), "x");
}

#[tokio::test]
async fn an_empty_file_is_said_to_be_empty() {
    let world = World::new();
    world.write("a", "").await.unwrap();
    let reply = world.read("a").await.unwrap();
    assert_eq!(reply.text, "`a` is empty");
    assert_eq!(reply.structured.unwrap()["content"], "");
}

#[tokio::test]
async fn reading_before_anything_was_written_makes_no_directory() {
    let world = World::new();
    let message = world.read("a").await.unwrap_err().message;
    assert_eq!(message, "`a` does not exist; `write_file` creates a file");
    assert!(!world.base().exists());
}

#[tokio::test]
async fn the_base_may_go_away_and_come_back() {
    let world = World::new();
    world.write("a", "1").await.unwrap();
    fs::remove_dir_all(world.base()).unwrap();
    assert!(world.read("a").await.is_err());
    world.write("a", "2").await.unwrap();
    assert_eq!(world.read("a").await.unwrap().text, "2");
}

#[tokio::test]
async fn a_base_that_is_a_file_is_an_answer_not_a_panic() {
    let world = World::new();
    fs::write(world.base(), "").unwrap();
    assert!(world.write("a", "1").await.is_err());
    assert!(world.read("a").await.is_err());
}

#[tokio::test]
async fn arguments_that_are_missing_are_named() {
    let world = World::new();
    let failure = world.call(0, json!({ "path": "a" })).await.unwrap_err();
    assert_eq!(failure.message, "`content` is required and must be a string");
    let failure = world.call(1, json!({ "path": 1 })).await.unwrap_err();
    assert_eq!(failure.message, "`path` is required and must be a string");
}

#[test]
fn definitions_declare_latency_and_hints() {
    let world = World::new();
    let [write, read] = &tools(&folder(&world.base()))[..] else { panic!("two tools") };
    for tool in [write, read] {
        assert_eq!(
            tool.definition()["_meta"]["dev.tollgate/latency"],
            json!({ "estimatedDurationMs": 20, "maxDurationMs": 100 })
        );
    }
    let hints = write.definition()["annotations"].clone();
    assert_eq!((&hints["destructiveHint"], &hints["idempotentHint"]), (&json!(true), &json!(true)));
    assert_eq!(hints["readOnlyHint"], false);
    assert_eq!(read.definition()["annotations"]["readOnlyHint"], true);
}
