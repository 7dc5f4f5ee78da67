// The lines that give the gateway its secrets: copied as they are, shown without them.
import { CopyButton } from "../../../kit/code";
import { type Draft, exports } from "./draft";

export function Exports(props: { of: Draft }) {
  return (
    <div className="code">
      <CopyButton text={exports(props.of)} />
      <pre className="wrap" tabIndex={0} role="region" aria-label="to export">
        {exports(props.of, "covered")}
      </pre>
    </div>
  );
}
