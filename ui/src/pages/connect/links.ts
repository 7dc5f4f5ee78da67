// Deep links that install the gateway in a client. They come from the gateway, but are checked anyway.

export const PLACEHOLDER = "TOLLGATE_KEY";
const CLIENT_SCHEMES: readonly string[] = [
  "cursor:",
  "vscode:",
  "vscode-insiders:",
  "goose:",
  "lmstudio:",
];

/** The link with the key inserted, if it belongs to a known client. */
export function installLink(link: string | null, key: string | undefined): string | undefined {
  if (!link) return undefined;
  try {
    if (!CLIENT_SCHEMES.includes(new URL(link).protocol)) return undefined;
  } catch {
    return undefined;
  }
  if (!key) return link;
  if (link.includes(PLACEHOLDER)) return link.replaceAll(PLACEHOLDER, encodeURIComponent(key));
  // Cursor expects its config in base64.
  return link.replace(/([?&]config=)([^&]+)/, (whole, name: string, config: string) => {
    try {
      const text = atob(decodeURIComponent(config));
      return name + encodeURIComponent(btoa(text.replaceAll(PLACEHOLDER, key)));
    } catch {
      return whole;
    }
  });
}

/** Whether the link still contains the placeholder for a key. */
export function lacksKey(link: string): boolean {
  return installLink(link, "x") !== link;
}
