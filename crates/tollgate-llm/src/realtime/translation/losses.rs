//! What gets lost between two protocols, as `docs/realtime.md` lists it.

use std::fmt;

/// A part of the client's protocol that the provider's does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TranslationLoss {
    /// Event or field of the client's protocol.
    pub what: &'static str,
    pub fate: LossFate,
    pub note: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossFate {
    /// An error names the field, and nothing changes.
    Refused,
    /// Accepted, without an effect.
    LeftOut,
    /// Something similar happens.
    Approximated,
}

impl fmt::Display for LossFate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "refused",
            Self::LeftOut => "left out",
            Self::Approximated => "approximated",
        })
    }
}

const fn loss(what: &'static str, fate: LossFate, note: &'static str) -> TranslationLoss {
    TranslationLoss { what, fate, note }
}

use LossFate::{Approximated, LeftOut, Refused};

/// A client of OpenAI Realtime before a Gemini Live model.
pub const OPENAI_CLIENT_LOSSES: &[TranslationLoss] = &[
    loss("session.type", Refused, "`transcription`: there is no such session"),
    loss("session.prompt", Refused, "stored prompts are OpenAI's"),
    loss("session.tool_choice", Refused, "other than `auto` and `none`"),
    loss("session.tools[].type", Refused, "`mcp`: give the server to the gateway"),
    loss(
        "session.audio.input.turn_detection.create_response",
        Refused,
        "`false`: the model answers every turn; `turn_detection: null` leaves it to the client",
    ),
    loss(
        "session.audio.output.voice",
        Approximated,
        "a name of Gemini's is used; a name of OpenAI's means the model's default voice",
    ),
    loss("session.audio.output.speed", LeftOut, ""),
    loss("session.audio.input.noise_reduction", LeftOut, ""),
    loss(
        "session.audio.input.transcription.*",
        LeftOut,
        "model, language and prompt; whether there is a transcript has an effect",
    ),
    loss("session.audio.input.turn_detection.threshold", LeftOut, ""),
    loss("session.audio.input.turn_detection.idle_timeout_ms", LeftOut, ""),
    loss("session.include", LeftOut, ""),
    loss("session.parallel_tool_calls", LeftOut, ""),
    loss("session.reasoning", LeftOut, ""),
    loss("session.tracing", LeftOut, ""),
    loss(
        "session.truncation",
        Approximated,
        "`disabled` ends the session when the context is full; everything else drops the oldest turns",
    ),
    loss(
        "session.output_modalities",
        Approximated,
        "`text`: the model speaks, and the client gets the transcript",
    ),
    loss(
        "response.conversation",
        Refused,
        "`none`: there are no responses outside the conversation",
    ),
    loss("response.input", Refused, ""),
    loss("response.tools", Refused, ""),
    loss("response.tool_choice", Refused, "other than `auto`"),
    loss("response.prompt", Refused, ""),
    loss("response.output_modalities", Refused, "other than the session's"),
    loss(
        "response.instructions",
        Approximated,
        "a text of the conversation, marked as instructions",
    ),
    loss("response.max_output_tokens", LeftOut, "the session's applies"),
    loss("response.audio", LeftOut, "the session's applies"),
    loss(
        "response.cancel",
        Approximated,
        "the client hears no more of the answer; the model finishes it",
    ),
    loss("previous_item_id", Refused, "other than the last item"),
    loss("item.type", Refused, "other than `message` and `function_call_output`"),
    loss("item.content[].type", Refused, "`input_audio`: use the input audio buffer"),
    loss("item.content[].image_url", Refused, "other than a `data:` URL"),
    loss("conversation.item.delete", Refused, "an item that the model has already"),
    loss(
        "conversation.item.truncate",
        Approximated,
        "the model keeps what it has said until it was interrupted",
    ),
    loss(
        "input_audio_buffer.clear",
        Approximated,
        "with turn detection the model has heard the audio already",
    ),
    loss(
        "input_audio_buffer.commit",
        Approximated,
        "with turn detection the model answers at once",
    ),
    loss("output_audio_buffer.clear", Refused, "as on every WebSocket"),
    loss("rate_limits.updated", LeftOut, "never sent"),
];

/// A client of Gemini Live before an OpenAI Realtime model.
pub const GEMINI_CLIENT_LOSSES: &[TranslationLoss] = &[
    loss("setup.sessionResumption.handle", Refused, "sessions of OpenAI cannot be resumed"),
    loss("setup.tools[].*", Refused, "other than `functionDeclarations`"),
    loss("setup.generationConfig.responseModalities", Refused, "other than `AUDIO` or `TEXT`"),
    loss("clientContent.turns[].parts[]", Refused, "other than text and images of the user"),
    loss("realtimeInput.audio.mimeType", Refused, "other than PCM"),
    loss("setup.sessionResumption", LeftOut, "there are no handles"),
    loss(
        "setup.generationConfig.temperature",
        LeftOut,
        "`topP`, `topK`, `seed`, penalties, `thinkingConfig`, `mediaResolution` and other fields too",
    ),
    loss(
        "setup.generationConfig.speechConfig",
        Approximated,
        "a name of OpenAI's voices is used, otherwise the model's default voice; no language",
    ),
    loss(
        "setup.realtimeInputConfig",
        Approximated,
        "sensitivities and `turnCoverage` are left out",
    ),
    loss("setup.contextWindowCompression", LeftOut, "OpenAI drops the oldest turns itself"),
    loss(
        "setup.proactivity",
        LeftOut,
        "`historyConfig`, `labels`, `safetySettings`, `toolConfig` and `avatarConfig` too",
    ),
    loss("functionDeclarations[].behavior", LeftOut, "the model always waits for its functions"),
    loss(
        "functionResponses[].willContinue",
        Approximated,
        "only the last response of a call is used",
    ),
    loss(
        "functionResponses[].scheduling",
        Approximated,
        "`SILENT` requests no answer; the others one at once",
    ),
    loss("realtimeInput.audioStreamEnd", Approximated, "a second of silence"),
    loss("realtimeInput.video", Approximated, "each frame is an image of the conversation"),
    loss("toolCallCancellation", LeftOut, "never sent: OpenAI does not take calls back"),
    loss("goAway", LeftOut, "never sent; the session ends after an hour"),
];

#[cfg(test)]
mod tests {
    use super::{GEMINI_CLIENT_LOSSES, OPENAI_CLIENT_LOSSES, TranslationLoss};

    const DOCUMENT: &str = include_str!("../../../../../docs/realtime.md");

    fn table(client: &str, losses: &[TranslationLoss]) -> String {
        let head = format!("| from {client} | | |\n|---|---|---|\n");
        let row = |loss: &TranslationLoss| {
            format!("| `{}` | {} | {} |\n", loss.what, loss.fate, loss.note).replace("|  |", "| |")
        };
        head + &losses.iter().map(row).collect::<String>()
    }

    #[test]
    fn the_documentation_lists_what_is_lost() {
        for (client, losses) in
            [("OpenAI Realtime", OPENAI_CLIENT_LOSSES), ("Gemini Live", GEMINI_CLIENT_LOSSES)]
        {
            let table = table(client, losses);
            assert!(DOCUMENT.contains(&table), "docs/realtime.md needs this table:\n{table}");
        }
    }
}
