// Edits the config of a server as a form or as JSON. It can be tested, and is reviewed before saving.
import { useMemo, useState } from "react";
import { path } from "../../api/client";
import type { Keys, Mistake, ServerDetail } from "../../api/types";
import { Tabs } from "../../kit/basics";
import { Mistakes, Review, type Wish } from "../../kit/change";
import { Dialog } from "../../kit/dialog";
import { TextEditor } from "../../kit/editor";
import { ServerForm } from "./form";
import { tidied } from "./keys";
import { TrialView, useTrial } from "./trial";

type Tab = "form" | "json";

export function EditServer(props: { of: ServerDetail; close: () => void }) {
  const { of } = props;
  const [typed, setTyped] = useState<Typed>(() => written(of.config ?? {}));
  const [tab, setTab] = useState<Tab>("form");
  const [reviewed, setReviewed] = useState<Keys>();
  const { tried, begin, stop } = useTrial();
  const wish = useMemo<Wish>(
    () => ({ method: "PUT", path: path("api", "servers", of.id), body: reviewed }),
    [of.id, reviewed],
  );
  const keys = tidied(typed.keys);
  const attempt = () => void begin(of.id, keys);
  const same = JSON.stringify(keys) === JSON.stringify(of.config);
  return (
    <>
      <Dialog
        place="side"
        title={`Edit ${of.id}`}
        close={props.close}
        actions={
          <>
            <button type="button" onClick={props.close}>
              Cancel
            </button>
            <button type="button" disabled={tried.running || !!typed.mistake} onClick={attempt}>
              Test
            </button>
            <button
              type="button"
              className="primary"
              disabled={same || !!typed.mistake}
              onClick={() => setReviewed(keys)}
            >
              Review changes…
            </button>
          </>
        }
      >
        <KeysEditor typed={typed} change={setTyped} tab={tab} choose={setTab} />
        <p className="help">
          Secrets are masked as <code>"***…"</code>. Leave them unchanged to keep their values.
        </p>
        {(tried.running || tried.report || tried.problem) && (
          <TrialView of={tried} stop={stop} again={attempt} />
        )}
      </Dialog>
      {reviewed && (
        <Review
          title={`Changes to ${of.id}`}
          action="Save"
          wish={wish}
          version={of.version}
          edited={of}
          close={() => setReviewed(undefined)}
          done={props.close}
        />
      )}
    </>
  );
}

export interface Typed {
  keys: Keys;
  /** The JSON as typed; it may be invalid. */
  json: string;
  mistake?: Mistake;
}

export function written(keys: Keys): Typed {
  return { keys, json: JSON.stringify(keys, null, 2) };
}

/** Parses the typed JSON; an error has its position. */
export function parsed(before: Typed, json: string): Typed {
  try {
    const keys: unknown = JSON.parse(json);
    if (typeof keys === "object" && keys !== null && !Array.isArray(keys)) {
      return { keys: keys as Keys, json };
    }
    return { ...before, json, mistake: mistake('expected an object: { "command": … }', 1, 1) };
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    const position = Number(/position (\d+)/.exec(said)?.[1] ?? json.length);
    const until = json.slice(0, position).split("\n");
    const words = said.replace(/ at position.*| \(line.*/s, "").replace(/^JSON\.parse: /, "");
    return {
      ...before,
      json,
      mistake: mistake(`invalid JSON: ${words}`, until.length, (until.at(-1)?.length ?? 0) + 1),
    };
  }
}

function mistake(message: string, line: number, column: number): Mistake {
  const place = { line, column, end_line: line, end_column: column };
  return { severity: "error", message, key: null, help: [], ...place };
}

/** Two tabs for the same config: form and JSON. */
export function KeysEditor(props: {
  typed: Typed;
  change: (typed: Typed) => void;
  tab: Tab;
  choose: (tab: Tab) => void;
  /** A field lost the focus. */
  left?: () => void;
}) {
  const { typed, change, tab } = props;
  return (
    <>
      <Tabs
        label="Editor"
        tabs={[
          { id: "form", title: "Form" },
          { id: "json", title: "JSON" },
        ]}
        chosen={tab}
        choose={props.choose}
      />
      {tab === "form" && typed.mistake && (
        <div className="note warn">The JSON is invalid. The form shows the last valid version.</div>
      )}
      {tab === "form" ? (
        <ServerForm keys={typed.keys} change={(keys) => change(written(keys))} left={props.left} />
      ) : (
        <>
          <TextEditor
            label="Server config as JSON"
            text={typed.json}
            change={(json) => change(parsed(typed, json))}
            mistakes={typed.mistake ? [typed.mistake] : []}
          />
          <Mistakes of={typed.mistake ? [typed.mistake] : []} />
        </>
      )}
    </>
  );
}
