// Untrusted text: shown as plain text, with hidden characters escaped, and truncated at first.
import { useState } from "react";

/** Invisible characters, and those that change how others are displayed. */
const HIDDEN =
  /[\p{Cf}\p{Co}\p{Zl}\p{Zp}]|(?![\t\n\r])\p{Cc}|[\ufe00-\ufe0e]|[\u115f\u1160]|[\u3164\uffa0]|[\u{e0100}-\u{e01ef}]/gu;

/** Replaces hidden characters by `⟨U+202E⟩`. */
export function escapeHidden(text: string): string {
  return text.replace(HIDDEN, (sign) => {
    const number = sign.codePointAt(0) ?? 0;
    return `⟨U+${number.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

/** The first `most` characters of a text. */
export function truncate(text: string, maxLength: number): string {
  const characters = text.length > maxLength ? [...text.slice(0, maxLength * 2)] : [];
  return characters.length > maxLength ? `${characters.slice(0, maxLength).join("")}…` : text;
}

export function UntrustedText(props: { text: string; clip?: number }) {
  const [expanded, setExpanded] = useState(false);
  const text = escapeHidden(props.text);
  const most = props.clip ?? 600;
  const short = truncate(text, most);
  if (expanded || short === text) return <span className="untrusted">{text}</span>;
  return (
    <span className="untrusted">
      {short}{" "}
      <button type="button" className="plain" onClick={() => setExpanded(true)}>
        Show more
      </button>
    </span>
  );
}

/** A link from an untrusted source: https only, without opener or referrer. */
export function SafeLink(props: { href: string; children?: string }) {
  const text = props.children ?? props.href;
  if (!isSafeUrl(props.href)) return <UntrustedText text={text} clip={200} />;
  return (
    <a href={props.href} target="_blank" rel="noopener noreferrer nofollow">
      {escapeHidden(truncate(text, 200))}
    </a>
  );
}

export function isSafeUrl(href: string): boolean {
  try {
    const { protocol, username, password } = new URL(href);
    return protocol === "https:" && username === "" && password === "";
  } catch {
    return false;
  }
}
