// Two wrote at the same time. Both texts are there; whoever typed decides.
import { useMemo } from "react";
import { Panel } from "../../kit/basics";
import { Code, Diff } from "../../kit/code";
import { difference, merged } from "../../kit/lines";
import type { ConfigFile, Draft } from "./file";

export function Conflict(props: {
  file: ConfigFile;
  draft: Draft;
  put: (next: Draft) => void;
  /** Lays what was typed aside. */
  aside: (text: string) => void;
}) {
  const { file, draft, put } = props;
  const both = useMemo(
    () => merged(draft.base.text, draft.text, file.text),
    [draft.base.text, draft.text, file.text],
  );
  return (
    <Panel
      className="conflict"
      title="The file was changed while you typed"
      actions={
        <>
          {both !== undefined && (
            <button
              type="button"
              className="primary"
              onClick={() => put({ base: file, text: both })}
            >
              Put both together
            </button>
          )}
          <button type="button" onClick={() => put({ base: file, text: draft.text })}>
            Go on with mine
          </button>
          <button
            type="button"
            onClick={() => {
              props.aside(draft.text);
              put({ base: file, text: file.text });
            }}
          >
            Take theirs
          </button>
        </>
      }
    >
      <p className="help">
        Nothing is lost and nothing was written by you yet. “Go on with mine” would undo what they
        did: the changes are shown once more before you save.
      </p>
      <div className="columns">
        <div>
          <h3>What changed in the file</h3>
          <Diff text={difference(draft.base.text, file.text)} />
        </div>
        <div>
          <h3>What you changed</h3>
          <Diff text={difference(draft.base.text, draft.text)} />
        </div>
      </div>
    </Panel>
  );
}

/** What was typed and laid aside; it can be had back. */
export function Aside(props: { text: string; back: () => void; drop: () => void }) {
  return (
    <Panel
      title="What you typed, laid aside"
      actions={
        <>
          <button type="button" onClick={props.back}>
            Bring it back
          </button>
          <button type="button" onClick={props.drop}>
            Throw it away
          </button>
        </>
      }
    >
      <Code text={props.text} label="what you typed" />
    </Panel>
  );
}
