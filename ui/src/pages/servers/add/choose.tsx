// A client config may list several servers; they are set up one after the other.
import type { ImportResult } from "../../../api/types";
import { Empty, Panel } from "../../../kit/basics";
import { count } from "../../../kit/format";
import { UntrustedText } from "../../../kit/untrusted";
import { commandLine, textAt } from "../config";

export function ChooseServer(props: {
  of: ImportResult;
  added: readonly string[];
  configure: (one: ImportResult["servers"][number]) => void;
  back: () => void;
}) {
  const { of } = props;
  return (
    <Panel
      title={`${count(of.servers.length, "server")} in this ${of.format} config`}
      actions={
        <button type="button" onClick={props.back}>
          Back
        </button>
      }
    >
      {of.servers.length === 0 && <Empty>No importable servers found.</Empty>}
      <ul className="entries">
        {of.servers.map((it) => (
          <li key={it.name}>
            <div className="bar">
              <strong>
                <UntrustedText text={it.name} clip={80} />
              </strong>
              {props.added.includes(it.name) ? (
                <span className="badge good">added</span>
              ) : (
                it.clash && <span className="badge warn">name already in use</span>
              )}
              <button
                type="button"
                className={props.added.includes(it.name) ? "small" : "small primary"}
                aria-label={`Set up ${it.name}`}
                onClick={() => props.configure(it)}
              >
                Set up
              </button>
            </div>
            <code className="clip">
              <UntrustedText text={commandLine(it.server) || textAt(it.server, "url")} clip={200} />
            </code>
          </li>
        ))}
      </ul>
      <NotImported of={of.dropped} />
    </Panel>
  );
}

/** Settings without an equivalent are listed, not dropped silently. */
export function NotImported(props: { of: ImportResult["dropped"] }) {
  if (props.of.length === 0) return null;
  return (
    <>
      <h3>Not imported</h3>
      <ul className="reasons">
        {props.of.map((it, at) => (
          <li key={at}>
            <code>
              <UntrustedText text={it.what} clip={120} />
            </code>{" "}
            <span className="quiet">
              <UntrustedText text={it.why} clip={300} />
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}
