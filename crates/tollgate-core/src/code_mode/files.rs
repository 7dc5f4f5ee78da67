//! Virtual stub files that describe tools: directory listing and content. They are not on disk.

use std::fmt::Write as _;

use super::signature::SignatureWriter;
use super::type_detail::TypeDetail;
use super::{BindingLevel, CodeModeApi, CodeModeServer, ShapeLookup, UnknownNameError};
use crate::nearest::nearest;
use crate::text::truncate_chars;

/// Maximum bytes per response; longer files are read in parts.
const MAX_RESPONSE_BYTES: usize = 24 * 1024;
/// Maximum files suggested when a file is not found.
const MAX_SUGGESTED_FILES: usize = 20;

impl CodeModeApi {
    /// All files as a tree.
    pub fn files(&self, binding: BindingLevel) -> String {
        if self.servers.is_empty() {
            return "there are no tools\n".to_owned();
        }
        let mut out = "servers/\n".to_owned();
        for server in &self.servers {
            let name = &server.identifier;
            let count = server.tools.len();
            let tools = if count == 1 { "tool" } else { "tools" };
            let line = match binding {
                BindingLevel::Server => writeln!(out, "  {name}.pyi  # {count} {tools}"),
                BindingLevel::Tool => writeln!(out, "  {name}/"),
            };
            line.expect("a string takes all");
            if binding == BindingLevel::Tool {
                for entry in &self.entries[server.tools.clone()] {
                    writeln!(out, "    {}.pyi", entry.identifier).expect("a string takes all");
                }
            }
        }
        out
    }

    /// A file, or a range of its lines (1-based, inclusive). Names are matched leniently: without
    /// directory or extension, in any case, for a server or a tool.
    pub fn read(
        &self,
        file: &str,
        lines: Option<(u32, u32)>,
        seen: ShapeLookup<'_>,
    ) -> Result<String, UnknownNameError> {
        let places = self.find_file(file).ok_or_else(|| self.no_file(file))?;
        Ok(part(&self.text(&places, seen), lines))
    }

    fn text(&self, places: &[usize], seen: ShapeLookup<'_>) -> String {
        let mut writer = SignatureWriter::new(TypeDetail::Brief, seen);
        let server = &self.servers[self.entries[places[0]].server].identifier;
        let mut out =
            format!("# call as {server}.<tool>(...); results are plain data: x[\"key\"]\n");
        for place in places {
            let entry = &self.entries[*place];
            let signature = writer.signature(entry);
            writer.classes.write_new(&mut out);
            let comment = signature.comment(entry.tool.description.as_deref());
            writeln!(out, "def {}:{comment}", signature.whole(&entry.identifier))
                .expect("a string takes all");
        }
        out
    }

    /// The tools in a file. Never empty.
    fn find_file(&self, file: &str) -> Option<Vec<usize>> {
        let file = stem(file);
        if let Some(server) = self.find_server(&file) {
            return Some(self.servers[server].tools.clone().collect());
        }
        let (server, tool) = file.split_once(['/', '.'])?;
        let place = self.find_tool(self.find_server(server)?, tool)?;
        Some(vec![place])
    }

    fn no_file(&self, file: &str) -> UnknownNameError {
        let requested = stem(file);
        let servers = self.servers.iter().map(|it| it.identifier.clone());
        let of_server = requested.split_once('/').and_then(|(server, _)| self.find_server(server));
        let all: Vec<String> = match of_server {
            Some(at) => {
                let CodeModeServer { identifier, tools, .. } = &self.servers[at];
                let tools = self.entries[tools.clone()].iter();
                tools.map(|it| format!("{identifier}/{}", it.identifier)).collect()
            }
            None => servers.collect(),
        };
        let path = |stem: &str| format!("servers/{stem}.pyi");
        let near = nearest(&requested, all.iter().map(String::as_str));
        let near = near.first().map(|it| format!("; did you mean `{}`", path(it)));
        let named: Vec<String> = all.iter().take(MAX_SUGGESTED_FILES).map(|it| path(it)).collect();
        let more = match all.len().checked_sub(MAX_SUGGESTED_FILES) {
            Some(more @ 1..) => format!(" and {more} more (see listToolFiles)"),
            _ => String::new(),
        };
        let near = near.unwrap_or_default();
        let hint = format!("{near}; there are: {}{more}", named.join(", "));
        UnknownNameError::File { name: truncate_chars(file, 120), hint }
    }
}

/// Removes directory and extension.
fn stem(file: &str) -> String {
    let file = file.trim().replace('\\', "/");
    let file = file.trim_start_matches(['.', '/']);
    let folder = file.get(..8).filter(|it| it.eq_ignore_ascii_case("servers/"));
    let file = folder.map_or(file, |folder| &file[folder.len()..]);
    let ending = [".pyi", ".py"].into_iter().find(|ending| {
        let at = file.len().checked_sub(ending.len());
        at.and_then(|at| file.get(at..)).is_some_and(|it| it.eq_ignore_ascii_case(ending))
    });
    let end = file.len() - ending.map_or(0, str::len);
    file[..end].trim_end_matches('/').to_owned()
}

/// The requested lines that exist and fit into one response.
fn part(text: &str, lines: Option<(u32, u32)>) -> String {
    let total = text.lines().count();
    let (from, to) = match lines {
        None => (1, total),
        Some((from, to)) => {
            let at = |line: u32| usize::try_from(line).unwrap_or(usize::MAX).clamp(1, total.max(1));
            (at(from), at(to).max(at(from)))
        }
    };
    let mut out = String::new();
    let mut last = from - 1;
    for line in text.lines().skip(from - 1).take(to + 1 - from) {
        if !out.is_empty() && out.len() + line.len() > MAX_RESPONSE_BYTES {
            break;
        }
        out.push_str(line);
        out.push('\n');
        last += 1;
    }
    let head = match (last < to, from == 1 && last == total) {
        (true, _) => {
            format!("# lines {from}-{last} of {total}; go on with startLine={}\n", last + 1)
        }
        (false, true) if lines.is_none() => String::new(),
        (false, _) => format!("# lines {from}-{last} of {total}\n"),
    };
    head + &out
}
