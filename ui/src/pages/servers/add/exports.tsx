// The shell lines that export secrets: masked on screen, complete when copied.
import { CopyButton } from "../../../kit/code";
import { exportLines, type ServerDraft } from "./draft";

export function Exports(props: { of: ServerDraft }) {
  return (
    <div className="code">
      <CopyButton text={exportLines(props.of)} />
      <pre className="wrap" tabIndex={0} role="region" aria-label="environment variables">
        {exportLines(props.of, "covered")}
      </pre>
    </div>
  );
}
