//! `tollgate chat`: a chat with an agent on the terminal. Streams the text, shows tool calls, and
//! asks for approval where a call needs it. Piped input is one message.

use std::io::{self, IsTerminal as _, Read as _};

use serde_json::{Value, json};

use crate::cli::chat::ChatArgs;
use crate::command_error::CommandError;
use crate::gateway::Gateway;
use crate::output::{Output, OutputFormat, clean};
use crate::signals::Interrupts;

mod answer;
mod screen;
mod user_input;

use answer::{ChatToolCall, StreamedChatAnswer};
use screen::ChatScreen;
use tollgate_config::Config;

/// Limit on rounds of approved calls in one turn.
const MAX_ROUNDS: usize = 16;
/// Limit on a piped message.
const MAX_PIPED_MESSAGE_BYTES: u64 = 4 << 20;
const HELP: &str = "/new starts a new conversation, /tier fast|standard|deep|auto sets the tier, \
                    /quit exits; Ctrl-C stops an answer, Ctrl-D exits";

pub(super) async fn run(
    args: &ChatArgs,
    config: &Config,
    output: Output,
) -> Result<(), CommandError> {
    let headers = headers(args)?;
    let gateway = Gateway::open(config).await?;
    let mut talk = TerminalChat {
        gateway: &gateway,
        agent: String::new(),
        headers,
        messages: Vec::new(),
        output,
    };
    let talked = talk.begin(args).await;
    gateway.close().await;
    talked
}

/// Headers of every request of the conversation.
fn headers(args: &ChatArgs) -> Result<Vec<(String, String)>, CommandError> {
    let mut headers = vec![
        ("x-tollgate-events".to_owned(), "true".to_owned()),
        ("x-tollgate-conversation".to_owned(), format!("chat-{:x}", rand::random::<u64>())),
    ];
    headers.extend(args.tier.iter().map(|tier| (TIER.to_owned(), tier.clone())));
    for variable in &args.variables {
        let Some((name, value)) = variable.split_once('=') else {
            return Err(CommandError::Usage(format!("`{variable}` is not `name=value`")));
        };
        headers.push((format!("x-tollgate-var-{}", name.replace('_', "-")), value.to_owned()));
    }
    Ok(headers)
}

const TIER: &str = "x-tollgate-tier";

/// One conversation on the terminal.
struct TerminalChat<'g> {
    gateway: &'g Gateway,
    agent: String,
    headers: Vec<(String, String)>,
    /// The messages so far, in the format of the API.
    messages: Vec<Value>,
    output: Output,
}

impl TerminalChat<'_> {
    async fn begin(&mut self, args: &ChatArgs) -> Result<(), CommandError> {
        self.agent = match &args.agent {
            Some(named) => named.clone(),
            None => self.gateway.usual_agent().await?,
        };
        if io::stdin().is_terminal() { self.converse().await } else { self.once().await }
    }

    /// Sends the piped message and prints the answer.
    async fn once(&mut self) -> Result<(), CommandError> {
        let mut message = String::new();
        let read = io::stdin().take(MAX_PIPED_MESSAGE_BYTES + 1).read_to_string(&mut message);
        let size = read.map_err(|error| CommandError::new(format!("standard input: {error}")))?;
        if size as u64 > MAX_PIPED_MESSAGE_BYTES {
            return Err(CommandError::new(format!(
                "a message of more than {} MiB",
                MAX_PIPED_MESSAGE_BYTES >> 20
            )));
        }
        let message = message.trim();
        if message.is_empty() {
            return Err(CommandError::Usage("standard input is empty".to_owned()));
        }
        self.messages.push(json!({"role": "user", "content": message}));
        let mut interrupts = Interrupts::listen();
        let Some(answer) = self.next_answer(&mut interrupts).await? else {
            return Err(CommandError::new("stopped by a signal"));
        };
        match answer.calls.as_slice() {
            [] => Ok(()),
            calls => {
                for call in calls {
                    let note =
                        format!("not run, because nobody can approve it: {}", call.summary());
                    self.output.note(&clean(&note));
                }
                Err(CommandError::AlreadyPrinted)
            }
        }
    }

    async fn converse(&mut self) -> Result<(), CommandError> {
        self.greet().await;
        let mut interrupts = Interrupts::listen();
        loop {
            let Some(line) = user_input::line(self.output, "> ", &mut interrupts).await else {
                return Ok(());
            };
            match line.trim() {
                "" => {}
                "/quit" | "/exit" => return Ok(()),
                "/new" => {
                    self.messages.clear();
                    self.output.note("forgotten");
                }
                command if command.starts_with('/') => self.command(command),
                message => {
                    let message = message.to_owned();
                    if let Err(failure) = self.turn(&message, &mut interrupts).await {
                        self.output.failure(&failure);
                    }
                }
            }
        }
    }

    fn command(&mut self, command: &str) {
        match command.strip_prefix("/tier").map(str::trim) {
            Some("auto") => self.headers.retain(|(name, _)| name != TIER),
            Some(tier @ ("fast" | "standard" | "deep")) => {
                self.headers.retain(|(name, _)| name != TIER);
                self.headers.push((TIER.to_owned(), tier.to_owned()));
            }
            _ => self.output.note(HELP),
        }
    }

    async fn greet(&mut self) {
        let note = format!("{} is listening; {HELP}", self.agent);
        if self.output.form == OutputFormat::Text {
            self.output.note(&clean(&note));
        }
        // No greeting without the right to read agents, or with a plain model.
        let Ok(Some(greeting)) = self.gateway.greeting(&self.agent, &self.headers).await else {
            return;
        };
        ChatScreen::new(self.output).say(&greeting);
        self.messages.push(json!({"role": "assistant", "content": greeting}));
    }

    /// A user message and everything that follows from it. If it fails, the message is removed
    /// again.
    async fn turn(
        &mut self,
        message: &str,
        interrupts: &mut Interrupts,
    ) -> Result<(), CommandError> {
        let before = self.messages.len();
        self.messages.push(json!({"role": "user", "content": message}));
        for _ in 0..MAX_ROUNDS {
            let answer = match self.next_answer(interrupts).await {
                Ok(Some(answer)) => answer,
                Ok(None) => return Ok(()),
                Err(failure) => {
                    self.messages.truncate(before);
                    return Err(failure);
                }
            };
            if answer.calls.is_empty() {
                return Ok(());
            }
            self.settle(&answer.calls, interrupts).await?;
        }
        Err(CommandError::new(format!("the model requested calls {MAX_ROUNDS} times; start again")))
    }

    /// The model's next answer. `None` if it was interrupted. The received part is kept.
    async fn next_answer(
        &mut self,
        interrupts: &mut Interrupts,
    ) -> Result<Option<StreamedChatAnswer>, CommandError> {
        let body = json!({
            "model": self.agent,
            "messages": self.messages,
            "stream": true,
            "stream_options": {"include_usage": true},
        });
        let mut answer = StreamedChatAnswer::default();
        let mut screen = ChatScreen::new(self.output);
        let headers = {
            let listening = self.gateway.chat(&body, &self.headers, |event| {
                if let Some(step) = answer.hear(&event) {
                    screen.show(&step);
                }
            });
            tokio::select! {
                headers = listening => Some(headers),
                () = interrupts.next() => None,
            }
        };
        screen.end();
        match headers {
            Some(Err(failure)) => Err(failure),
            Some(Ok(head)) => {
                if let Some(failed) = answer.failed.take() {
                    return Err(CommandError::new(failed));
                }
                screen.sum_up(&answer, &head);
                self.messages.extend(answer.history());
                Ok(Some(answer))
            }
            None => {
                self.output.note("ended");
                self.messages.extend(answer.so_far());
                Ok(None)
            }
        }
    }

    /// Asks for approval of each call, runs the approved ones, and appends the results.
    async fn settle(
        &mut self,
        calls: &[ChatToolCall],
        interrupts: &mut Interrupts,
    ) -> Result<(), CommandError> {
        let mut leave = Vec::new();
        let mut refused = Vec::new();
        for call in calls {
            if user_input::allows(self.output, call, interrupts).await {
                leave.push(call.json())
            } else {
                refused.push(call.refusal())
            }
        }
        if !leave.is_empty() {
            let leave = Value::Array(leave);
            let done = self.gateway.run_calls(&leave, &self.agent, &self.headers).await?;
            for message in done.as_array().into_iter().flatten() {
                let text = message["content"].as_str().unwrap_or_default();
                self.output.note(&clean(&format!("  {}", answer::brief(text))));
                self.messages.push(message.clone());
            }
        }
        self.messages.extend(refused);
        Ok(())
    }
}
