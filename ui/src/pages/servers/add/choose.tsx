// A client config may list several servers; they are set up one after the other.
import type { Imported } from "../../../api/types";
import { Empty, Panel } from "../../../kit/basics";
import { Foreign } from "../../../kit/foreign";
import { count } from "../../../kit/words";
import { commandLine, text } from "../keys";

export function Choose(props: {
  of: Imported;
  added: readonly string[];
  take: (one: Imported["servers"][number]) => void;
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
                <Foreign text={it.name} clip={80} />
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
                onClick={() => props.take(it)}
              >
                Set up
              </button>
            </div>
            <code className="clip">
              <Foreign text={commandLine(it.server) || text(it.server, "url")} clip={200} />
            </code>
          </li>
        ))}
      </ul>
      <Dropped of={of.dropped} />
    </Panel>
  );
}

/** Settings without an equivalent are listed, not dropped silently. */
export function Dropped(props: { of: Imported["dropped"] }) {
  if (props.of.length === 0) return null;
  return (
    <>
      <h3>Not imported</h3>
      <ul className="kept">
        {props.of.map((it, at) => (
          <li key={at}>
            <code>
              <Foreign text={it.what} clip={120} />
            </code>{" "}
            <span className="quiet">
              <Foreign text={it.why} clip={300} />
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}
