// Code blocks with a copy button, diffs, and the CLI equivalent of a request.
import { useState } from "react";
import { Dialog } from "./dialog";
import { showToast } from "./toast";
import { escapeHidden } from "./untrusted";

export function CopyButton(props: { text: string; label?: string }) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(props.text);
      showToast("Copied");
    } catch {
      showToast("Clipboard access denied. Select the text and copy it manually.", "bad");
    }
  };
  return (
    <button type="button" className="small" onClick={() => void copy()}>
      {props.label ?? "Copy"}
    </button>
  );
}

/** Shows hidden characters escaped, but copies the original text. */
export function Code(props: { text: string; label?: string; wrap?: boolean }) {
  return (
    <div className="code">
      <CopyButton text={props.text} />
      <pre
        className={props.wrap ? "wrap" : ""}
        tabIndex={0}
        role="region"
        aria-label={props.label ?? "code"}
      >
        {escapeHidden(props.text)}
      </pre>
    </div>
  );
}

export function Json(props: { value: unknown; label?: string }) {
  return (
    <Code text={JSON.stringify(props.value, null, 2) ?? "null"} label={props.label ?? "JSON"} />
  );
}

/** A unified diff, coloured by line. */
export function Diff(props: { text: string }) {
  if (!props.text.trim()) return <p className="quiet">No changes.</p>;
  return (
    <pre className="diff" tabIndex={0} role="region" aria-label="changes">
      {props.text.split("\n").map((line, at) => (
        <span key={at} className={lineClass(line)}>
          {`${line}\n`}
        </span>
      ))}
    </pre>
  );
}

function lineClass(line: string): string {
  if (line.startsWith("+++") || line.startsWith("---")) return "file";
  if (line.startsWith("@@")) return "hunk";
  if (line.startsWith("+")) return "more";
  return line.startsWith("-") ? "less" : "";
}

/** Shows the CLI command and the curl call for what the page shows. */
export function ShowAsCli(props: CliRequest & { cli?: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="plain" onClick={() => setOpen(true)}>
        Show as CLI
      </button>
      {open && (
        <Dialog title="Run from a terminal" close={() => setOpen(false)}>
          {props.cli && <Code text={props.cli} label="CLI command" />}
          <Code text={curl(props)} label="curl" />
          <p className="help">
            <code>$KEY</code> is an admin key or the contents of <code>admin.token</code> in the
            data directory.
          </p>
        </Dialog>
      )}
    </>
  );
}

export interface CliRequest {
  method?: string;
  path: string;
  body?: unknown;
  /** A body that is already serialized. */
  text?: string;
}

export function curl(request: CliRequest): string {
  const body =
    request.text ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
  const method = request.method ?? (body === undefined ? "GET" : "POST");
  const url = `${location.origin}${request.path}`;
  const lines = [`curl -s ${method === "GET" ? "" : `-X ${method} `}${shellQuote(url)}`];
  lines.push(`  -H "authorization: Bearer $KEY"`);
  if (body !== undefined) {
    lines.push(`  -H 'content-type: application/json'`, `  --data-binary ${shellQuote(body)}`);
  }
  return lines.join(" \\\n");
}

/** Quotes a word for a POSIX shell. */
export function shellQuote(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
