// Resolves a conflict between unsaved edits and a concurrent change of the file.
import { useMemo } from "react";
import { Panel } from "../../kit/basics";
import { Code, Diff } from "../../kit/code";
import { diffLines, mergeLines } from "../../kit/diff";
import type { ConfigFile, Draft } from "./file";

export function Conflict(props: {
  file: ConfigFile;
  draft: Draft;
  update: (next: Draft) => void;
  /** Sets the discarded edits aside, so that they can be restored. */
  keepAside: (text: string) => void;
}) {
  const { file, draft, update } = props;
  const merged = useMemo(
    () => mergeLines(draft.base.text, draft.text, file.text),
    [draft.base.text, draft.text, file.text],
  );
  return (
    <Panel
      className="conflict"
      title="The file changed while you were editing"
      actions={
        <>
          {merged !== undefined && (
            <button
              type="button"
              className="primary"
              onClick={() => update({ base: file, text: merged })}
            >
              Merge both
            </button>
          )}
          <button type="button" onClick={() => update({ base: file, text: draft.text })}>
            Keep mine
          </button>
          <button
            type="button"
            onClick={() => {
              props.keepAside(draft.text);
              update({ base: file, text: file.text });
            }}
          >
            Use theirs
          </button>
        </>
      }
    >
      <p className="help">
        Nothing was saved or lost. “Keep mine” would revert their changes; you can review the result
        before saving.
      </p>
      <div className="columns">
        <div>
          <h3>Changes in the file</h3>
          <Diff text={diffLines(draft.base.text, file.text)} />
        </div>
        <div>
          <h3>Your changes</h3>
          <Diff text={diffLines(draft.base.text, draft.text)} />
        </div>
      </div>
    </Panel>
  );
}

/** The discarded edits, which can be restored. */
export function DiscardedEdits(props: { text: string; back: () => void; drop: () => void }) {
  return (
    <Panel
      title="Your discarded edits"
      actions={
        <>
          <button type="button" onClick={props.back}>
            Restore
          </button>
          <button type="button" onClick={props.drop}>
            Delete
          </button>
        </>
      }
    >
      <Code text={props.text} label="your edits" />
    </Panel>
  );
}
