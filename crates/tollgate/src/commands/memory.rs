//! `tollgate memory`: the memory of agents, for the operator. Uses the running gateway, or an
//! in-process one that starts no servers.

use http::Method;
use serde_json::{Map, Value, json};
use tollgate_config::Config;

use super::tools::{items, text};
use crate::cli::memory::{
    AddEntityArgs, AddFactArgs, ForgetArgs, MemoryArgs, MemoryCommand, MemorySearchArgs, RelateArgs,
};
use crate::command_error::CommandError;
use crate::gateway::Gateway;
use crate::gateway::memory::path;
use crate::output::{Output, OutputFormat, TextTable, clean};

mod export;
mod import;
mod show;

pub(super) async fn run(
    args: &MemoryArgs,
    config: &Config,
    output: Output,
) -> Result<(), CommandError> {
    if let MemoryCommand::Backup { file } = &args.command {
        return export::backup(file, config, output).await;
    }
    let gateway = Gateway::open_store(config).await?;
    let done = MemoryCommandRun { gateway: &gateway, args, output }.run().await;
    gateway.close().await;
    done
}

/// One command and the gateway it uses.
struct MemoryCommandRun<'s> {
    gateway: &'s Gateway,
    args: &'s MemoryArgs,
    output: Output,
}

impl MemoryCommandRun<'_> {
    async fn run(&self) -> Result<(), CommandError> {
        match &self.args.command {
            MemoryCommand::Namespaces => self.namespaces().await,
            MemoryCommand::Add(fact) => self.add(fact).await,
            MemoryCommand::AddEntity(entity) => self.add_entity(entity).await,
            MemoryCommand::Relate(relation) => self.relate(relation).await,
            MemoryCommand::Search(search) => self.search(search).await,
            MemoryCommand::Show { id } => show::run(self, id).await,
            MemoryCommand::Sessions { limit } => self.sessions(*limit).await,
            MemoryCommand::Import(files) => import::run(self, files).await,
            MemoryCommand::Export { out } => export::run(self, out.as_deref()).await,
            MemoryCommand::Forget(what) => self.forget(what).await,
            MemoryCommand::Backup { .. } => unreachable!("run before"),
        }
    }

    /// Query of every request: namespace and agent.
    fn query(&self) -> Vec<(&'static str, String)> {
        let MemoryArgs { namespace, agent, .. } = self.args;
        let pairs = [("namespace", namespace), ("agent", agent)];
        pairs.into_iter().filter_map(|(key, value)| Some((key, value.clone()?))).collect()
    }

    fn with(&self, more: &[(&'static str, String)]) -> Vec<(&'static str, String)> {
        let mut query = self.query();
        query.extend_from_slice(more);
        query
    }

    /// Prints what was done, as text or as the JSON response.
    fn say(&self, words: &str, answer: &Value) {
        match self.output.form {
            OutputFormat::Json => self.output.json(answer),
            OutputFormat::Text => self.output.line(&clean(words)),
        }
    }

    async fn namespaces(&self) -> Result<(), CommandError> {
        let found = self.gateway.get_memory("", &self.query()).await?;
        let mut table =
            TextTable::new(&["NAMESPACE", "SESSIONS", "ENTRIES", "FACTS", "ENTITIES", "RELATIONS"]);
        for namespace in items(&found, "namespaces") {
            let counts = ["sessions", "entries", "facts", "entities", "relations"];
            let mut row = vec![text(namespace, "namespace")];
            row.extend(counts.iter().map(|key| namespace[*key].to_string()));
            table.row(row);
        }
        self.list(&found, &table, "the memory is empty");
        Ok(())
    }

    fn list(&self, found: &Value, table: &TextTable, nothing: &str) {
        match self.output.form {
            OutputFormat::Json => self.output.json(found),
            OutputFormat::Text if table.is_empty() => self.output.note(nothing),
            OutputFormat::Text => self.output.table(table),
        }
    }

    async fn add(&self, fact: &AddFactArgs) -> Result<(), CommandError> {
        let AddFactArgs { text, about, topic, session } = fact;
        let body = without_nulls([
            ("text", json!(text)),
            ("about", json!(about)),
            ("topic", json!(topic)),
            ("session", json!(session)),
        ]);
        let stored = self.gateway.remember(Method::POST, "/facts", &self.query(), &body).await?;
        self.say(&format!("saved as fact {}", stored["id"]), &stored);
        Ok(())
    }

    async fn add_entity(&self, entity: &AddEntityArgs) -> Result<(), CommandError> {
        let AddEntityArgs { kind, name, attributes, id, replace } = entity;
        let body = without_nulls([
            ("id", json!(id)),
            ("type", json!(kind)),
            ("name", json!(name)),
            ("attributes", pairs(attributes)?),
        ]);
        let query = self.query();
        let stored = match (replace, id) {
            (false, _) => self.gateway.remember(Method::POST, "/entities", &query, &body).await,
            (true, Some(id)) => {
                let path = path("entities", id);
                self.gateway.remember(Method::PUT, &path, &query, &body).await
            }
            (true, None) => {
                let message = "`--replace` requires `--id`, so that nothing else is replaced";
                Err(CommandError::Usage(message.to_owned()))
            }
        };
        let stored = stored?;
        self.say(&format!("saved as `{}`", text(&stored["entity"], "id")), &stored);
        Ok(())
    }

    async fn relate(&self, relation: &RelateArgs) -> Result<(), CommandError> {
        let RelateArgs { source, kind, target, attributes, confidence, session } = relation;
        let body = without_nulls([
            ("source", json!(source)),
            ("type", json!(kind)),
            ("target", json!(target)),
            ("attributes", pairs(attributes)?),
            ("confidence", json!(confidence)),
            ("session", json!(session)),
        ]);
        let stored =
            self.gateway.remember(Method::POST, "/relations", &self.query(), &body).await?;
        let parts = ["source", "type", "target"].map(|part| text(&stored, part));
        self.say(&format!("remembered: {}", parts.join(" ")), &stored);
        Ok(())
    }

    async fn search(&self, search: &MemorySearchArgs) -> Result<(), CommandError> {
        let limit = ("limit", search.limit.to_string());
        if search.entities {
            let query = self.with(&[("name", search.query.clone()), limit]);
            let found = self.gateway.get_memory("/entities", &query).await?;
            self.list(
                &found,
                &show::entities(items(&found, "entities")),
                "no entity has this name",
            );
            return Ok(());
        }
        let mut query = self.with(&[("q", search.query.clone()), limit]);
        query.extend(search.session.clone().map(|session| ("session", session)));
        let only_said = search.sessions || search.session.is_some();
        let list = if only_said { "/sessions" } else { "/facts" };
        let found = self.gateway.get_memory(list, &query).await?;
        self.list(&found, &show::hits(items(&found, "results")), "nothing found");
        Ok(())
    }

    async fn sessions(&self, limit: u32) -> Result<(), CommandError> {
        let query = self.with(&[("limit", limit.to_string())]);
        let found = self.gateway.get_memory("/sessions", &query).await?;
        let mut table = TextTable::new(&["SESSION", "ENTRIES", "BEGAN", "LAST", "FOR", "SUMMARY"]);
        for session in items(&found, "sessions") {
            let summary = session["summary"].as_str().unwrap_or("–");
            table.row(vec![
                text(session, "id"),
                session["entries"].to_string(),
                show::day(session, "began"),
                show::day(session, "last"),
                session["agent"].as_str().unwrap_or("all").to_owned(),
                summary.lines().next().unwrap_or_default().to_owned(),
            ]);
        }
        self.list(&found, &table, "there are no sessions");
        Ok(())
    }

    async fn forget(&self, forget: &ForgetArgs) -> Result<(), CommandError> {
        let what = &forget.what;
        let (place, more) = if let Some(session) = &what.session {
            (path("sessions", session), None)
        } else if let Some(entity) = &what.entity {
            (path("entities", entity), None)
        } else if let Some(fact) = &what.fact {
            (path("facts", &fact.to_string()), None)
        } else if let Some(author) = &what.author {
            (String::new(), Some(("author", author.clone())))
        } else if let Some(before) = &what.before {
            (String::new(), Some(("before", before.clone())))
        } else {
            let namespace = self.args.namespace.clone().unwrap_or_default();
            (String::new(), Some(("confirm", namespace)))
        };
        let query = self.with(more.as_slice());
        let gone = self.gateway.forget(&place, &query).await?;
        self.say(&format!("forgotten: {}", show::describe_counts(&gone["forgotten"])), &gone);
        Ok(())
    }
}

/// Only the fields that are set.
fn without_nulls<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let lines = fields.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(lines.map(|(key, value)| (key.to_owned(), value)).collect())
}

/// `age=41 trade=smuggler`: valid JSON values are parsed, everything else is a string.
fn pairs(typed: &[String]) -> Result<Value, CommandError> {
    let mut pairs = Map::new();
    for pair in typed {
        let (key, value) =
            pair.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or_else(|| {
                CommandError::Usage(format!("`{pair}` is not KEY=VALUE, such as `trade=smuggler`"))
            })?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
        if pairs.insert(key.to_owned(), value).is_some() {
            return Err(CommandError::Usage(format!("`{key}` appears twice")));
        }
    }
    Ok(if pairs.is_empty() { Value::Null } else { Value::Object(pairs) })
}
