//! Arguments of `tollgate memory`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, value_parser};

#[derive(Debug, Args)]
pub struct MemoryArgs {
    #[command(subcommand)]
    pub command: MemoryCommand,
    /// The namespace: a campaign, or TENANT/CAMPAIGN [default: default]
    #[arg(long, short, global = true, value_name = "NAME")]
    pub namespace: Option<String>,
    /// The memory as this agent sees it; additions are private to it [default: see all, add for
    /// all]
    #[arg(long, global = true, value_name = "NAME")]
    pub agent: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    /// List all namespaces with their counts
    Namespaces,
    /// Add a fact
    Add(AddFactArgs),
    /// Add a person, a place or a thing
    AddEntity(AddEntityArgs),
    /// Add a relation between two entities
    Relate(RelateArgs),
    /// Search by words, and by meaning if an embedding model is configured
    Search(MemorySearchArgs),
    /// Show an entity, or the transcript of a session
    Show {
        /// Id of an entity or a session
        id: String,
    },
    /// List conversations, latest first
    Sessions {
        /// Maximum number of results
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = value_parser!(u32).range(1..=1000))]
        limit: u32,
    },
    /// Import transcripts, or files of `export`; importing twice is safe
    Import(MemoryImportArgs),
    /// Export everything as JSON Lines
    Export {
        /// Write to this file [default: standard output]
        #[arg(long, short, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Delete something
    Forget(ForgetArgs),
    /// Copy the whole memory of the data directory into a new file
    Backup {
        /// The new file; it must not exist
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct AddFactArgs {
    /// A self-contained sentence: "Mira Voss is afraid of herons"
    pub text: String,
    /// Its subject: the id of an entity
    #[arg(long, value_name = "ID")]
    pub about: Option<String>,
    /// Its topic
    #[arg(long, value_name = "TEXT")]
    pub topic: Option<String>,
    /// The session where it came up
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
}

#[derive(Debug, Args)]
pub struct AddEntityArgs {
    /// npc, player, location, item, faction, event, quest, concept, or any other word
    #[arg(value_name = "TYPE")]
    pub kind: String,
    /// Its name
    pub name: String,
    /// Attributes: `age=41 trade=smuggler`
    #[arg(value_name = "KEY=VALUE")]
    pub attributes: Vec<String>,
    /// Its id, used in relations [default: derived from type and name]
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// Replace the entity with the same id
    #[arg(long)]
    pub replace: bool,
}

#[derive(Debug, Args)]
pub struct RelateArgs {
    /// The id of an entity
    pub source: String,
    /// The relation, one word: `lives_in`, `fears`, `owns`
    #[arg(value_name = "TYPE")]
    pub kind: String,
    /// The id of the other entity
    pub target: String,
    /// Attributes: `since=1422`
    #[arg(value_name = "KEY=VALUE")]
    pub attributes: Vec<String>,
    /// Confidence, from 0 to 1 [default: 1]
    #[arg(long, value_name = "NUMBER")]
    pub confidence: Option<f32>,
    /// The session where it came up
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches")]
pub struct MemorySearchArgs {
    /// Words, or a question
    pub query: String,
    /// Only transcripts
    #[arg(long, conflicts_with_all = ["facts", "entities"])]
    pub sessions: bool,
    /// Facts, and transcripts if there is no embedding model (default)
    #[arg(long, conflicts_with = "entities")]
    pub facts: bool,
    /// Only entities, by their names
    #[arg(long)]
    pub entities: bool,
    /// Only the transcript of this session
    #[arg(long, value_name = "ID", conflicts_with_all = ["facts", "entities"])]
    pub session: Option<String>,
    /// Maximum number of results
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = value_parser!(u32).range(1..=100))]
    pub limit: u32,
}

#[derive(Debug, Args)]
pub struct MemoryImportArgs {
    /// Transcripts (`Speaker: text`, JSON, WebVTT, SRT) or JSON Lines; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Their format [default: by file name]
    #[arg(long, value_enum)]
    pub format: Option<MemoryImportFormat>,
    /// The session of a transcript [default: the file name without extension]
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Its start: `2026-01-05`, `2026-01-05T19:00:00Z` [default: from the name or a heading, else
    /// the date of the file]
    #[arg(long, value_name = "WHEN")]
    pub date: Option<String>,
    /// Only show what would be imported
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MemoryImportFormat {
    /// The format of `export`
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
    /// A session with its transcript
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// An entity with its relations
    #[arg(long, value_name = "ID")]
    pub entity: Option<String>,
    /// A fact, by its number
    #[arg(long, value_name = "N")]
    pub fact: Option<u64>,
    /// Everything of one author: `key:phone`, `local`; in every namespace unless one is named
    #[arg(long, value_name = "WHO")]
    pub author: Option<String>,
    /// Older transcripts: `2026-01-05`, `90d`; in every namespace unless one is named
    #[arg(long, value_name = "WHEN")]
    pub before: Option<String>,
    /// A whole namespace, which must be named
    #[arg(long, requires = "namespace", requires = "yes")]
    pub everything: bool,
}

#[derive(Debug, Args)]
pub struct ForgetArgs {
    #[command(flatten)]
    pub what: ForgetTarget,
    /// Confirm the deletion
    #[arg(long)]
    pub yes: bool,
}
