// Links that put the gateway into another program. They are ours, but they are checked all the same.

export const PLACEHOLDER = "TOLLGATE_KEY";
const PROGRAMS: readonly string[] = [
  "cursor:",
  "vscode:",
  "vscode-insiders:",
  "goose:",
  "lmstudio:",
];

/** The link with a key in it, if it leads into one of the programs that we know. */
export function installLink(link: string | null, key: string | undefined): string | undefined {
  if (!link) return undefined;
  try {
    if (!PROGRAMS.includes(new URL(link).protocol)) return undefined;
  } catch {
    return undefined;
  }
  if (!key) return link;
  if (link.includes(PLACEHOLDER)) return link.replaceAll(PLACEHOLDER, encodeURIComponent(key));
  // Cursor takes its config in base64.
  return link.replace(/([?&]config=)([^&]+)/, (whole, name: string, config: string) => {
    try {
      const text = atob(decodeURIComponent(config));
      return name + encodeURIComponent(btoa(text.replaceAll(PLACEHOLDER, key)));
    } catch {
      return whole;
    }
  });
}

/** Whether a link has no place for a key that is needed. */
export function lacksKey(link: string): boolean {
  return installLink(link, "x") !== link;
}
