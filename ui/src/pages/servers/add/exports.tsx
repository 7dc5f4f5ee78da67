// The shell lines that export secrets: masked on screen, complete when copied.
import { CopyButton } from "../../../kit/code";
import { type Draft, exports } from "./draft";

export function Exports(props: { of: Draft }) {
  return (
    <div className="code">
      <CopyButton text={exports(props.of)} />
      <pre className="wrap" tabIndex={0} role="region" aria-label="environment variables">
        {exports(props.of, "covered")}
      </pre>
    </div>
  );
}
