// The differences between two definitions, with hidden characters escaped.
import type { ToolDetail } from "../../api/types";
import { visible } from "../../kit/foreign";

export function Changes(props: { changes: ToolDetail["changes"] }) {
  const { changes } = props;
  if (changes === null) return <p className="quiet">No trusted definition yet.</p>;
  if (changes.length === 0) return <p className="quiet">No changes since it was trusted.</p>;
  return (
    <div className="changes">
      {changes.map((change, at) => (
        <div key={at}>
          <code>{visible(change.at) || "(root)"}</code>
          <pre className="diff" tabIndex={0} role="region" aria-label={`change at ${change.at}`}>
            {change.before !== null && <span className="less">{signed("-", change.before)}</span>}
            {change.after !== null && <span className="more">{signed("+", change.after)}</span>}
          </pre>
        </div>
      ))}
    </div>
  );
}

function signed(sign: string, text: string): string {
  return visible(text)
    .split("\n")
    .map((line) => `${sign} ${line}\n`)
    .join("");
}
