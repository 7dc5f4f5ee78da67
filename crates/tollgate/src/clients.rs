//! The programs that have lists of MCP servers of their own: what they are called and where their
//! files are. `import` reads these files, `connect` writes them. Knows no contents.

use std::path::{Path, PathBuf};

/// One of them.
#[derive(Debug)]
pub struct Client {
    /// As it is typed: `claude-code`.
    pub id: &'static str,
    pub name: &'static str,
    /// Where it looks, the nearest first.
    pub places: &'static [Place],
}

/// A path below a folder that each machine has elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Of the project: the working directory.
    Here(&'static str),
    Home(&'static str),
    /// `~/.config`, or what `XDG_CONFIG_HOME` says; on macOS `~/Library/Application Support`.
    Settings(&'static str),
    /// `~/.config` everywhere.
    Dot(&'static str),
}

/// The folders of one machine.
#[derive(Debug, Clone)]
pub struct Folders {
    pub here: PathBuf,
    pub home: PathBuf,
    pub settings: PathBuf,
    pub dot: PathBuf,
}

pub const CLIENTS: &[Client] = &[
    Client {
        id: "claude-code",
        name: "Claude Code",
        places: &[Place::Here(".mcp.json"), Place::Home(".claude.json")],
    },
    Client {
        id: "claude-desktop",
        name: "Claude Desktop",
        places: &[Place::Settings("Claude/claude_desktop_config.json")],
    },
    Client {
        id: "cursor",
        name: "Cursor",
        places: &[Place::Here(".cursor/mcp.json"), Place::Home(".cursor/mcp.json")],
    },
    Client {
        id: "vscode",
        name: "VS Code",
        places: &[Place::Here(".vscode/mcp.json"), Place::Settings("Code/User/mcp.json")],
    },
    Client {
        id: "copilot-cli",
        name: "GitHub Copilot CLI",
        places: &[Place::Home(".copilot/mcp-config.json")],
    },
    Client {
        id: "codex",
        name: "Codex",
        places: &[Place::Here(".codex/config.toml"), Place::Home(".codex/config.toml")],
    },
    Client {
        id: "gemini-cli",
        name: "Gemini CLI",
        places: &[Place::Here(".gemini/settings.json"), Place::Home(".gemini/settings.json")],
    },
    Client {
        id: "windsurf",
        name: "Windsurf / Antigravity",
        places: &[
            Place::Home(".codeium/windsurf/mcp_config.json"),
            Place::Home(".gemini/antigravity/mcp_config.json"),
        ],
    },
    Client {
        id: "zed",
        name: "Zed",
        places: &[Place::Here(".zed/settings.json"), Place::Dot("zed/settings.json")],
    },
    Client {
        id: "opencode",
        name: "opencode",
        places: &[Place::Here("opencode.json"), Place::Dot("opencode/opencode.json")],
    },
    Client { id: "goose", name: "Goose", places: &[Place::Dot("goose/config.yaml")] },
    Client {
        id: "cline",
        name: "Cline / Roo Code",
        places: &[
            Place::Here(".roo/mcp.json"),
            Place::Settings(
                "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            ),
            Place::Settings(
                "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
            ),
        ],
    },
];

/// Other spellings of what is typed.
const ALSO: &[(&str, &str)] = &[
    ("claude", "claude-code"),
    ("copilot", "copilot-cli"),
    ("gemini", "gemini-cli"),
    ("antigravity", "windsurf"),
    ("code", "vscode"),
    ("vs-code", "vscode"),
    ("roo", "cline"),
];

impl Client {
    pub fn find(typed: &str) -> Option<&'static Self> {
        let typed = typed.to_ascii_lowercase();
        let also = ALSO.iter().find(|(other, _)| *other == typed);
        let id = also.map_or(typed.as_str(), |(_, id)| id);
        CLIENTS.iter().find(|client| client.id == id)
    }

    /// Whose file this is, by its name.
    pub fn of_file(path: &Path) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.places.iter().any(|it| path.ends_with(it.below())))
    }

    pub fn files(&self, folders: &Folders) -> Vec<PathBuf> {
        self.places.iter().map(|place| place.on(folders)).collect()
    }
}

impl Place {
    fn below(self) -> &'static str {
        match self {
            Self::Here(path) | Self::Home(path) | Self::Settings(path) | Self::Dot(path) => path,
        }
    }

    pub fn on(self, folders: &Folders) -> PathBuf {
        match self {
            Self::Here(path) => folders.here.join(path),
            Self::Home(path) => folders.home.join(path),
            Self::Settings(path) => folders.settings.join(path),
            Self::Dot(path) => folders.dot.join(path),
        }
    }

    /// As people write it, wherever the folders are.
    pub fn written(self) -> String {
        match self {
            Self::Here(path) => path.to_owned(),
            Self::Home(path) => format!("~/{path}"),
            Self::Settings(path) if cfg!(target_os = "macos") => {
                format!("~/Library/Application Support/{path}")
            }
            Self::Settings(path) | Self::Dot(path) => format!("~/.config/{path}"),
        }
    }
}

impl Folders {
    /// Of whoever runs this; `None` without a home.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let set = |name: &str| variable(name).filter(|text| !text.is_empty()).map(PathBuf::from);
        let home = set("HOME")?;
        let dot = set("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let settings = match cfg!(target_os = "macos") {
            true => home.join("Library/Application Support"),
            false => dot.clone(),
        };
        Some(Self { here: PathBuf::from("."), home, settings, dot })
    }
}

#[cfg(test)]
mod tests;
