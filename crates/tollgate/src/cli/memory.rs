//! Arguments of `tollgate memory`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, value_parser};

#[derive(Debug, Args)]
pub struct MemoryArgs {
    #[command(subcommand)]
    pub command: MemoryCommand,
    /// Which memory: a campaign, or TENANT/CAMPAIGN [default: default]
    #[arg(long, short, global = true, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Look through this agent's eyes; what is added is for it alone [default: see all, add for all]
    #[arg(long, global = true, value_name = "NAME")]
    pub agent: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    /// The namespaces there are, and how much is in them
    Namespaces,
    /// Write down a fact
    Add(AddFactArgs),
    /// Write down a person, a place or a thing
    AddEntity(AddEntityArgs),
    /// Write down what one entity has to do with another
    Relate(RelateArgs),
    /// Find something by its words, and by its meaning where a model is configured for it
    Search(MemorySearchArgs),
    /// All about an entity, or all that was said in a session
    Show {
        /// Of an entity or of a session
        id: String,
    },
    /// The conversations there are, the latest first
    Sessions {
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = value_parser!(u32).range(1..=1000))]
        limit: u32,
    },
    /// Take in transcripts, or what `export` wrote; twice does no harm
    Import(MemoryImportArgs),
    /// Write all of it as JSON Lines
    Export {
        /// Write to this file [default: standard output]
        #[arg(long, short, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Take something out again
    Forget(ForgetArgs),
    /// Copy the whole memory of the data directory into a new file
    Backup {
        /// Where to; it must not be there yet
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct AddFactArgs {
    /// In a sentence that reads alone: "Mira Voss is afraid of herons"
    pub text: String,
    /// Whom it is about: the id of an entity
    #[arg(long, value_name = "ID")]
    pub about: Option<String>,
    /// What it is about
    #[arg(long, value_name = "TEXT")]
    pub topic: Option<String>,
    /// Where it came up
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
}

#[derive(Debug, Args)]
pub struct AddEntityArgs {
    /// npc, player, location, item, faction, event, quest, concept, or any other word
    #[arg(value_name = "TYPE")]
    pub kind: String,
    /// What people call it
    pub name: String,
    /// What else is known: `age=41 trade=smuggler`
    #[arg(value_name = "KEY=VALUE")]
    pub attributes: Vec<String>,
    /// What it is called by in relations [default: made of type and name]
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// Put it in the place of the one of the same id
    #[arg(long)]
    pub replace: bool,
}

#[derive(Debug, Args)]
pub struct RelateArgs {
    /// The id of an entity
    pub source: String,
    /// In a word: `lives_in`, `fears`, `owns`
    #[arg(value_name = "TYPE")]
    pub kind: String,
    /// The id of the other one
    pub target: String,
    /// What else is known: `since=1422`
    #[arg(value_name = "KEY=VALUE")]
    pub attributes: Vec<String>,
    /// From 0 to 1 [default: 1]
    #[arg(long, value_name = "NUMBER")]
    pub confidence: Option<f32>,
    /// Where it came up
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches")]
pub struct MemorySearchArgs {
    /// Words, or a question
    pub query: String,
    /// Only what was said
    #[arg(long, conflicts_with_all = ["facts", "entities"])]
    pub sessions: bool,
    /// Facts, and what was said where no model finds them by meaning; looked for unless something else is said
    #[arg(long, conflicts_with = "entities")]
    pub facts: bool,
    /// Only entities, by their names
    #[arg(long)]
    pub entities: bool,
    /// Only what was said in this session
    #[arg(long, value_name = "ID", conflicts_with_all = ["facts", "entities"])]
    pub session: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = value_parser!(u32).range(1..=100))]
    pub limit: u32,
}

#[derive(Debug, Args)]
pub struct MemoryImportArgs {
    /// Transcripts (`Speaker: text`, JSON, WebVTT, SRT) or JSON Lines; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// What they are [default: what their names say]
    #[arg(long, value_enum)]
    pub format: Option<MemoryImportFormat>,
    /// The session of a transcript [default: the file's name without its ending]
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// When it began: `2026-01-05`, `2026-01-05T19:00:00Z` [default: what the name or a heading says, else the file's own date]
    #[arg(long, value_name = "WHEN")]
    pub date: Option<String>,
    /// Only say what would be kept
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MemoryImportFormat {
    /// What `export` writes
    Jsonl,
    /// `Speaker: text`
    Text,
    /// A list of objects with `speaker` and `text`, or `role` and `content`
    Json,
    /// WebVTT
    Vtt,
    Srt,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct ForgetTarget {
    /// A session, with all that was said in it
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// An entity, with its relations
    #[arg(long, value_name = "ID")]
    pub entity: Option<String>,
    /// A fact, by its number
    #[arg(long, value_name = "N")]
    pub fact: Option<u64>,
    /// All that one author wrote: `key:phone`, `local`; in every namespace unless one is named
    #[arg(long, value_name = "WHO")]
    pub author: Option<String>,
    /// Transcripts that are older: `2026-01-05`, `90d`; in every namespace unless one is named
    #[arg(long, value_name = "WHEN")]
    pub before: Option<String>,
    /// All of a namespace, which has to be named
    #[arg(long, requires = "namespace", requires = "yes")]
    pub everything: bool,
}

#[derive(Debug, Args)]
pub struct ForgetArgs {
    #[command(flatten)]
    pub what: ForgetTarget,
    /// Yes, everything
    #[arg(long)]
    pub yes: bool,
}
