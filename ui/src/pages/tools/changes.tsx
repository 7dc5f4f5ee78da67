// The differences between two definitions, with hidden characters escaped.
import type { ToolDetail } from "../../api/types";
import { escapeHidden } from "../../kit/untrusted";

export function Changes(props: { changes: ToolDetail["changes"] }) {
  const { changes } = props;
  if (changes === null) return <p className="quiet">No trusted definition yet.</p>;
  if (changes.length === 0) return <p className="quiet">No changes since it was trusted.</p>;
  return (
    <div className="changes">
      {changes.map((change, at) => (
        <div key={at}>
          <code>{escapeHidden(change.at) || "(root)"}</code>
          <pre className="diff" tabIndex={0} role="region" aria-label={`change at ${change.at}`}>
            {change.before !== null && (
              <span className="less">{prefixLines("-", change.before)}</span>
            )}
            {change.after !== null && (
              <span className="more">{prefixLines("+", change.after)}</span>
            )}
          </pre>
        </div>
      ))}
    </div>
  );
}

function prefixLines(sign: string, text: string): string {
  return escapeHidden(text)
    .split("\n")
    .map((line) => `${sign} ${line}\n`)
    .join("");
}
