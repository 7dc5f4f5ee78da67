//! The server `images`: `generate_image` generates an image and saves it in the folder of `files`.
//!
//! Images take longer than most turns. A caller whose time runs out gets the file name in advance,
//! and the image is finished in the background: bounded in number and time.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use tollgate_core::turn::Actor;
use tollgate_mcp::tasks::TaskGroup;

use super::file_links::{FileLink, FileLinks, LINK_LIFE};
use super::files::SandboxFolder;
use super::image_format::ImageFormat;
use super::{
    BuiltinReply, BuiltinTool, BuiltinToolContext, BuiltinToolError, latency_outside, text_argument,
};
use crate::settings::ImageSettings;

mod name;
mod service;

use service::ImageService;

/// Images generated at the same time.
const MAX_CONCURRENT_IMAGES: usize = 8;
/// Time reserved to return the answer to the caller.
const MARGIN: Duration = Duration::from_millis(150);
const MAX_PROMPT_CHARS: usize = 4_000;
const MAX_STYLE_CHARS: usize = 200;

pub fn tools(
    settings: &ImageSettings,
    folder: SandboxFolder,
    links: &Arc<FileLinks>,
) -> Vec<Box<dyn BuiltinTool>> {
    let service = ImageService::new(settings);
    let studio = Arc::new(ImageGenerator { service, folder, links: Arc::clone(links) });
    vec![Box::new(GenerateImage { studio, painting: OnceLock::new() })]
}

struct GenerateImage {
    studio: Arc<ImageGenerator>,
    /// Created on first use: that is within a runtime.
    painting: OnceLock<TaskGroup>,
}

struct ImageGenerator {
    service: ImageService,
    folder: SandboxFolder,
    links: Arc<FileLinks>,
}

struct SavedImage {
    path: String,
    media_type: &'static str,
    bytes: usize,
}

/// The link of a picture that is being made; withdrawn unless the picture is saved.
struct PromisedLink {
    links: Arc<FileLinks>,
    link: Option<FileLink>,
}

impl PromisedLink {
    fn complete(mut self, folder: &SandboxFolder, saved: &SavedImage) {
        if let Some(link) = self.link.take() {
            self.links.complete(&link, folder.clone(), saved.path.clone(), saved.bytes);
        }
    }
}

impl Drop for PromisedLink {
    fn drop(&mut self) {
        if let Some(link) = &self.link {
            self.links.withdraw(link);
        }
    }
}

impl ImageGenerator {
    /// Generates the image and saves it as `name` with the matching extension.
    async fn paint(&self, prompt: &str, name: &str) -> Result<SavedImage, BuiltinToolError> {
        let content = self.service.picture(prompt).await;
        let content = content.map_err(|error| BuiltinToolError::new(error.to_string()))?;
        let kind = ImageFormat::of(&content).ok_or_else(|| {
            BuiltinToolError::new(
                "the image service returned something other than a picture; try again",
            )
        })?;
        let path = format!("{name}.{}", kind.ending());
        let bytes = content.len();
        self.folder.save(&path, content, service::LARGEST_PICTURE).await?;
        Ok(SavedImage { path, media_type: kind.media_type(), bytes })
    }
}

#[async_trait]
impl BuiltinTool for GenerateImage {
    fn definition(&self) -> Value {
        json!({
            "name": "generate_image",
            "title": "Make a picture",
            "description": "Generates a picture from a description and saves it as a file. Returns \
                            its path at once, even if the picture takes longer.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "prompt": {
                        "type": "string",
                        "description": "What the picture shows",
                        "minLength": 1,
                        "maxLength": MAX_PROMPT_CHARS,
                    },
                    "style": {
                        "type": "string",
                        "description": "How it should look, for example `watercolour`",
                        "maxLength": MAX_STYLE_CHARS,
                    },
                },
                "required": ["prompt"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "status": { "type": "string", "enum": ["done", "pending"] },
                    "path": {
                        "type": "string",
                        "description": "Path in the folder of `files`; without extension while \
                                        pending",
                    },
                    "mime_type": { "type": "string" },
                    "bytes": { "type": "integer", "minimum": 0 },
                    "url": {
                        "type": "string",
                        "description": "Where it can be seen without a key, below the address of \
                                        the gateway; give it to nobody else",
                    },
                    "url_seconds": { "type": "integer", "description": "For how long" },
                },
                "required": ["status", "path"],
            },
            "annotations": {
                "title": "Make a picture",
                "readOnlyHint": false,
                "destructiveHint": false,
                "idempotentHint": false,
                "openWorldHint": true,
            },
            "_meta": latency_outside(3000, 4000),
        })
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        asker: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        let prompt = text_argument(arguments, "prompt")?.trim();
        if prompt.is_empty() {
            return Err(BuiltinToolError::new("`prompt` is empty: describe the picture"));
        }
        let style = arguments.get("style").and_then(Value::as_str).map(str::trim);
        let query = match style.filter(|style| !style.is_empty()) {
            Some(style) => format!("{prompt}\n\nStyle: {style}"),
            None => prompt.to_owned(),
        };
        let name = name::of(prompt, rand::random());
        let (tell, receiver) = oneshot::channel();
        let studio = Arc::clone(&self.studio);
        let path = name.clone();
        let painting =
            self.painting.get_or_init(|| TaskGroup::new("picture", MAX_CONCURRENT_IMAGES));
        let owner = Actor { principal: asker.principal.clone(), lease: asker.lease.clone() };
        let link = studio.links.issue(&owner);
        let promised = PromisedLink { links: Arc::clone(&studio.links), link: link.clone() };
        let started = painting.spawn(async move {
            let painted = studio.paint(&query, &path).await;
            if let Ok(saved) = &painted {
                promised.complete(&studio.folder, saved);
            }
            if let Err(Err(failure)) = tell.send(painted) {
                tracing::warn!(path, reason = failure.message, "image generation failed");
            }
        });
        started.map_err(|_| {
            BuiltinToolError::new("too many pictures are being generated; try again in a minute")
        })?;
        match wait(receiver, asker).await {
            Some(Ok(painted)) => painted.map(|saved| image_ready_reply(&saved, link.as_ref())),
            Some(Err(_)) => {
                Err(BuiltinToolError::new("the picture could not be generated; try again"))
            }
            None => Ok(image_pending_reply(&name, link.as_ref())),
        }
    }
}

type ImageResult = Result<Result<SavedImage, BuiltinToolError>, oneshot::error::RecvError>;

/// `None`: the caller's deadline has come.
async fn wait(
    receiver: oneshot::Receiver<Result<SavedImage, BuiltinToolError>>,
    asker: &BuiltinToolContext,
) -> Option<ImageResult> {
    let Some(until) = asker.until else { return Some(receiver.await) };
    let latest = until.checked_sub(MARGIN).unwrap_or(until);
    tokio::time::timeout_at(latest.into(), receiver).await.ok()
}

fn image_ready_reply(saved: &SavedImage, link: Option<&FileLink>) -> BuiltinReply {
    let structured = json!({
        "status": "done",
        "path": saved.path,
        "mime_type": saved.media_type,
        "bytes": saved.bytes,
    });
    let kilobytes = saved.bytes.div_ceil(1000);
    let text = format!("The picture is in the file `{}`, {kilobytes} kB.", saved.path);
    with_link(BuiltinReply { text, structured: Some(structured) }, link)
}

fn image_pending_reply(name: &str, link: Option<&FileLink>) -> BuiltinReply {
    let text = format!(
        "The picture is still being generated. It will be in the file `{name}`, with the extension \
         of its format, within two minutes. Do not request it again."
    );
    let structured = Some(json!({ "status": "pending", "path": name }));
    with_link(BuiltinReply { text, structured }, link)
}

/// Adds where the picture can be seen, for people and for pages.
fn with_link(mut reply: BuiltinReply, link: Option<&FileLink>) -> BuiltinReply {
    if let (Some(link), Some(structured)) = (link, &mut reply.structured) {
        let path = link.path();
        let minutes = LINK_LIFE.as_secs() / 60;
        reply.text.push_str(&format!(" It can be seen for {minutes} minutes at `{path}`."));
        structured["url"] = path.into();
        structured["url_seconds"] = LINK_LIFE.as_secs().into();
    }
    reply
}

#[cfg(test)]
mod tests;
