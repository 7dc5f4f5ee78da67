//! Client programs with their own lists of MCP servers: their names and the paths of their config
//! files. `import` reads these files, `connect` writes them. Contents are handled there.

use std::path::{Path, PathBuf};

/// A client program.
#[derive(Debug)]
pub struct ClientApp {
    /// Name on the command line: `claude-code`.
    pub id: &'static str,
    pub name: &'static str,
    /// Paths of its config file, the most specific first.
    pub places: &'static [ClientFilePath],
}

/// A path relative to a folder that depends on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientFilePath {
    /// Relative to the project: the working directory.
    Here(&'static str),
    Home(&'static str),
    /// Relative to `~/.config` or `XDG_CONFIG_HOME`, on macOS `~/Library/Application Support`.
    Settings(&'static str),
    /// Relative to `~/.config` on every system.
    Dot(&'static str),
}

/// The folders of one user.
#[derive(Debug, Clone)]
pub struct UserFolders {
    pub here: PathBuf,
    pub home: PathBuf,
    pub settings: PathBuf,
    pub dot: PathBuf,
}

pub const CLIENTS: &[ClientApp] = &[
    ClientApp {
        id: "claude-code",
        name: "Claude Code",
        places: &[ClientFilePath::Here(".mcp.json"), ClientFilePath::Home(".claude.json")],
    },
    ClientApp {
        id: "claude-desktop",
        name: "Claude Desktop",
        places: &[ClientFilePath::Settings("Claude/claude_desktop_config.json")],
    },
    ClientApp {
        id: "cursor",
        name: "Cursor",
        places: &[
            ClientFilePath::Here(".cursor/mcp.json"),
            ClientFilePath::Home(".cursor/mcp.json"),
        ],
    },
    ClientApp {
        id: "vscode",
        name: "VS Code",
        places: &[
            ClientFilePath::Here(".vscode/mcp.json"),
            ClientFilePath::Settings("Code/User/mcp.json"),
        ],
    },
    ClientApp {
        id: "copilot-cli",
        name: "GitHub Copilot CLI",
        places: &[ClientFilePath::Home(".copilot/mcp-config.json")],
    },
    ClientApp {
        id: "codex",
        name: "Codex",
        places: &[
            ClientFilePath::Here(".codex/config.toml"),
            ClientFilePath::Home(".codex/config.toml"),
        ],
    },
    ClientApp {
        id: "gemini-cli",
        name: "Gemini CLI",
        places: &[
            ClientFilePath::Here(".gemini/settings.json"),
            ClientFilePath::Home(".gemini/settings.json"),
        ],
    },
    ClientApp {
        id: "windsurf",
        name: "Windsurf / Antigravity",
        places: &[
            ClientFilePath::Home(".codeium/windsurf/mcp_config.json"),
            ClientFilePath::Home(".gemini/antigravity/mcp_config.json"),
        ],
    },
    ClientApp {
        id: "zed",
        name: "Zed",
        places: &[
            ClientFilePath::Here(".zed/settings.json"),
            ClientFilePath::Dot("zed/settings.json"),
        ],
    },
    ClientApp {
        id: "opencode",
        name: "opencode",
        places: &[
            ClientFilePath::Here("opencode.json"),
            ClientFilePath::Dot("opencode/opencode.json"),
        ],
    },
    ClientApp { id: "goose", name: "Goose", places: &[ClientFilePath::Dot("goose/config.yaml")] },
    ClientApp {
        id: "cline",
        name: "Cline / Roo Code",
        places: &[
            ClientFilePath::Here(".roo/mcp.json"),
            ClientFilePath::Settings(
                "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            ),
            ClientFilePath::Settings(
                "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
            ),
        ],
    },
];

/// Other spellings of the names.
const CLIENT_ALIASES: &[(&str, &str)] = &[
    ("claude", "claude-code"),
    ("copilot", "copilot-cli"),
    ("gemini", "gemini-cli"),
    ("antigravity", "windsurf"),
    ("code", "vscode"),
    ("vs-code", "vscode"),
    ("roo", "cline"),
];

impl ClientApp {
    pub fn find(typed: &str) -> Option<&'static Self> {
        let typed = typed.to_ascii_lowercase();
        let also = CLIENT_ALIASES.iter().find(|(other, _)| *other == typed);
        let id = also.map_or(typed.as_str(), |(_, id)| id);
        CLIENTS.iter().find(|client| client.id == id)
    }

    /// The program that a file belongs to, by its file name.
    pub fn of_file(path: &Path) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.places.iter().any(|it| path.ends_with(it.below())))
    }

    pub fn files(&self, folders: &UserFolders) -> Vec<PathBuf> {
        self.places.iter().map(|place| place.on(folders)).collect()
    }
}

impl ClientFilePath {
    fn below(self) -> &'static str {
        match self {
            Self::Here(path) | Self::Home(path) | Self::Settings(path) | Self::Dot(path) => path,
        }
    }

    pub fn on(self, folders: &UserFolders) -> PathBuf {
        match self {
            Self::Here(path) => folders.here.join(path),
            Self::Home(path) => folders.home.join(path),
            Self::Settings(path) => folders.settings.join(path),
            Self::Dot(path) => folders.dot.join(path),
        }
    }

    /// The path for display, independent of the actual folders.
    pub fn display_path(self) -> String {
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

impl UserFolders {
    /// Folders of the current user. `None` without a home directory.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let set = |name: &str| variable(name).filter(|text| !text.is_empty()).map(PathBuf::from);
        let home = set("HOME")?;
        let dot = set("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let settings = if cfg!(target_os = "macos") {
            home.join("Library/Application Support")
        } else {
            dot.clone()
        };
        Some(Self { here: PathBuf::from("."), home, settings, dot })
    }
}

#[cfg(test)]
mod tests;
