//! `tollgate audit`: shows the audit ledger: calls and decisions, by whom, and their outcomes.
//! `verify` checks the hash chain of the rows.

use serde_json::{Value, json};
use tollgate_config::Config;
use tollgate_core::turn::Principal;
use tollgate_server::audit_csv as csv;

use super::tools::{items, text, time};
use crate::app::{self, OfflineKeyring};
use crate::cli::{AuditArgs, AuditCommand, AuditFormat};
use crate::command_error::CommandError;
use crate::gateway::{Gateway, GatewayEvent};
use crate::output::{Output, OutputFormat, TextTable, clean, pluralize};

/// Default number of rows in the table, and before followed rows.
const SHOWN: usize = 50;
const SHOWN_BEFORE: usize = 10;
/// Rows per request.
const PAGE: usize = 1_000;

pub(super) async fn run(
    audit: &AuditArgs,
    config: &Config,
    output: Output,
) -> Result<(), CommandError> {
    if audit.command.is_some() && (!filters(audit).is_empty() || audit.limit.is_some()) {
        let message = "`verify` checks all rows; remove the filters";
        return Err(CommandError::Usage(message.to_owned()));
    }
    if audit.command == Some(AuditCommand::Acknowledge) {
        return acknowledge(config, output).await;
    }
    let gateway = Gateway::open_store(config).await?;
    let done = match audit.command {
        Some(AuditCommand::Verify) => verify(&gateway, output).await,
        Some(AuditCommand::Acknowledge) | None => {
            show(audit, &gateway, AuditPrinter::new(audit, output)).await
        }
    };
    gateway.close().await;
    done
}

async fn verify(gateway: &Gateway, output: Output) -> Result<(), CommandError> {
    let found = gateway.audit_verify().await?;
    match output.form {
        OutputFormat::Json => output.json(&found),
        OutputFormat::Text => {
            let number = |key: &str| found[key].as_u64().unwrap_or_default();
            match found["broken"]["problem"].as_str() {
                None if found["ok"] == false => {}
                None => output.line(&format!(
                    "the audit trail is intact: {} up to {}, head {}",
                    pluralize(usize::try_from(number("rows")).unwrap_or(usize::MAX), "row"),
                    number("last"),
                    text(&found, "head"),
                )),
                Some(problem) => output.line(&format!("the audit trail is broken: {problem}")),
            }
            for loss in items(&found, "losses") {
                let when = loss["found"].as_str().unwrap_or("now");
                let problem = text(loss, "problem");
                output.line(&format!("the audit trail has lost rows (found {when}): {problem}"));
            }
        }
    }
    if found["ok"] == true { Ok(()) } else { Err(CommandError::AlreadyPrinted) }
}

/// Works directly on the files: write access to them is sufficient authorization.
async fn acknowledge(config: &Config, output: Output) -> Result<(), CommandError> {
    let OfflineKeyring { ledger, .. } = app::open_offline_keyring(config).await?;
    let losses = ledger.acknowledge_losses(&Principal::local()).await;
    let losses = losses.map_err(|error| CommandError::new(error.to_string()))?;
    match output.form {
        OutputFormat::Json => output.json(&json!({ "acknowledged": losses.len() })),
        OutputFormat::Text if losses.is_empty() => output.note("no loss is recorded"),
        OutputFormat::Text => {
            losses.iter().for_each(|loss| output.note(&format!("acknowledged: {loss}")))
        }
    }
    Ok(())
}

async fn show(
    audit: &AuditArgs,
    gateway: &Gateway,
    printer: AuditPrinter,
) -> Result<(), CommandError> {
    let filters = filters(audit);
    let usual = match (printer.format, audit.follow) {
        (_, true) => Some(SHOWN_BEFORE),
        (AuditFormat::Table, false) => Some(SHOWN),
        (AuditFormat::Jsonl | AuditFormat::Csv, false) => None,
    };
    printer.begin();
    let mut last = 0;
    match audit.limit.map(|limit| limit as usize).or(usual) {
        Some(limit) => {
            let (mut rows, newest) = newest(gateway, &filters, limit).await?;
            last = newest;
            rows.reverse();
            printer.print(&rows);
        }
        None => all(gateway, &filters, &printer).await?,
    }
    if audit.follow {
        return follow(gateway, &filters, last, &printer).await;
    }
    Ok(())
}

/// The last rows, newest first, and the number of the last one.
async fn newest(
    gateway: &Gateway,
    filters: &[(&str, String)],
    limit: usize,
) -> Result<(Vec<Value>, u64), CommandError> {
    let mut rows = Vec::new();
    let mut last = 0;
    let mut after = None;
    while rows.len() < limit {
        let size = (limit - rows.len()).min(PAGE);
        let page = ask(
            gateway,
            filters,
            [("order", "newest".to_owned()), ("limit", size.to_string())],
            after,
        )
        .await?;
        last = last.max(page["last"].as_u64().unwrap_or_default());
        rows.extend_from_slice(items(&page, "rows"));
        after = page["next"].as_u64();
        if after.is_none() {
            break;
        }
    }
    Ok((rows, last))
}

async fn all(
    gateway: &Gateway,
    filters: &[(&str, String)],
    printer: &AuditPrinter,
) -> Result<(), CommandError> {
    let mut after = Some(0);
    while after.is_some() {
        let page = ask(
            gateway,
            filters,
            [("order", "oldest".to_owned()), ("limit", PAGE.to_string())],
            after,
        )
        .await?;
        printer.print(items(&page, "rows"));
        after = page["next"].as_u64();
    }
    Ok(())
}

async fn ask(
    gateway: &Gateway,
    filters: &[(&str, String)],
    how: [(&str, String); 2],
    after: Option<u64>,
) -> Result<Value, CommandError> {
    let mut query = filters.to_vec();
    query.extend(how);
    query.extend(after.map(|after| ("after", after.to_string())));
    gateway.audit(&query).await
}

/// Runs until it is stopped. After a broken connection it resumes behind the last row.
async fn follow(
    gateway: &Gateway,
    filters: &[(&str, String)],
    mut last: u64,
    printer: &AuditPrinter,
) -> Result<(), CommandError> {
    loop {
        let mut query = filters.to_vec();
        query.push(("after", last.to_string()));
        let began = last;
        let on_event = |GatewayEvent { name, data }| {
            if name == "row" {
                last = data["sequence"].as_u64().unwrap_or(last);
                printer.print_live_row(&data);
            }
        };
        gateway.audit_tail(&query, on_event).await?;
        if last == began {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        }
    }
}

fn filters(audit: &AuditArgs) -> Vec<(&'static str, String)> {
    let given = [
        ("since", &audit.since),
        ("until", &audit.until),
        ("kind", &audit.kind),
        ("principal", &audit.principal),
        ("agent", &audit.agent),
        ("server", &audit.server),
        ("name", &audit.tool),
        ("outcome", &audit.outcome),
        ("call", &audit.call),
    ];
    given.into_iter().filter_map(|(key, value)| Some((key, value.clone()?))).collect()
}

struct AuditPrinter {
    format: AuditFormat,
    output: Output,
}

impl AuditPrinter {
    fn new(audit: &AuditArgs, output: Output) -> Self {
        let usual = match output.form {
            OutputFormat::Json => AuditFormat::Jsonl,
            OutputFormat::Text => AuditFormat::Table,
        };
        Self { format: audit.format.unwrap_or(usual), output }
    }

    fn begin(&self) {
        if self.format == AuditFormat::Csv {
            self.output.raw(&csv::head());
        }
    }

    fn print(&self, rows: &[Value]) {
        match self.format {
            AuditFormat::Table => self.table(rows),
            AuditFormat::Jsonl => rows.iter().for_each(|row| self.output.line(&row.to_string())),
            AuditFormat::Csv => rows.iter().for_each(|row| self.output.raw(&csv::line(row))),
        }
    }

    /// Prints one row at once, without aligned columns.
    fn print_live_row(&self, row: &Value) {
        if self.format != AuditFormat::Table {
            return self.print(std::slice::from_ref(row));
        }
        let cells = ["at", "kind", "principal", "agent", "name", "outcome"];
        let cells = cells.map(|key| text(row, key)).join("  ");
        let detail = row["detail"].as_str().unwrap_or_default();
        let line = format!("{cells}  {}  {detail}", time(&row["duration_ms"]));
        self.output.line(&clean(line.trim_end()));
    }

    fn table(&self, rows: &[Value]) {
        let mut table = TextTable::new(&[
            "ROW",
            "TIME",
            "KIND",
            "PRINCIPAL",
            "AGENT",
            "NAME",
            "OUTCOME",
            "TOOK",
            "DETAIL",
        ]);
        for row in rows {
            let sequence = row["sequence"].to_string();
            let mut cells = vec![sequence];
            cells.extend(
                ["at", "kind", "principal", "agent", "name", "outcome"].map(|key| text(row, key)),
            );
            cells.push(time(&row["duration_ms"]));
            cells.push(row["detail"].as_str().unwrap_or_default().to_owned());
            table.row(cells);
        }
        self.output.table(&table);
    }
}
