// Editor for the config file: validated while typing, and reviewed before saving.
import { useId, useMemo, useRef, useState } from "react";
import type { Changed } from "../api/types";
import { Failure, Page, Panel, Shown } from "../kit/basics";
import { Mistakes, Review } from "../kit/change";
import { AsCommand, CopyButton } from "../kit/code";
import { type Editor, TextEditor } from "../kit/editor";
import { say } from "../kit/toast";
import { count } from "../kit/words";
import { Aside, Conflict } from "./settings/conflict";
import {
  type Checked,
  type ConfigFile,
  useChecked,
  useConfigFile,
  useDraft,
} from "./settings/file";
import { About, Reload } from "./settings/reload";
import "../style/settings.css";

export default function SettingsPage() {
  const file = useConfigFile();
  return (
    <Page
      title="Settings"
      lead="All settings are in one config file. Changes saved here are written to it, and changes to the file show up here."
      actions={<AsCommand cli="tollgate check" path="/api/config" />}
    >
      <Shown of={file}>{(data) => <Config file={data} reread={() => void file.refetch()} />}</Shown>
      <div className="columns">
        <Reload />
        <About />
      </div>
    </Page>
  );
}

function Config(props: { file: ConfigFile; reread: () => void }) {
  const { file } = props;
  const { draft, dirty, put, conflict } = useDraft(file);
  const checked = useChecked(draft.text);
  const [reviewed, setReviewed] = useState<string>();
  const [aside, setAside] = useState<string>();
  const editor = useRef<Editor>(null);
  const id = useId();
  const type = (text: string) => put({ base: draft.base, text });
  return (
    <>
      {conflict && <Conflict file={file} draft={draft} put={put} aside={setAside} />}
      <Panel
        title={file.file ?? "Built-in defaults"}
        actions={
          <>
            <button
              type="button"
              disabled={!dirty}
              onClick={() => put({ base: file, text: file.text })}
            >
              Discard changes
            </button>
            {file.writable ? (
              <button
                type="button"
                className="primary"
                disabled={!dirty || conflict || isBad(checked)}
                onClick={() => setReviewed(draft.text)}
              >
                Review changes…
              </button>
            ) : (
              <CopyButton text={draft.text} label="Copy config" />
            )}
          </>
        }
      >
        <Standing file={file} />
        <TextEditor
          ref={editor}
          label="Config"
          text={draft.text}
          change={type}
          mistakes={checked?.text === draft.text ? checked.mistakes : []}
          describedBy={id}
        />
        <div id={id}>
          <Verdict of={checked?.text === draft.text ? checked : undefined} dirty={dirty} />
          <Mistakes
            of={checked?.mistakes ?? []}
            go={(it) => editor.current?.go(it.line ?? 1, it.column ?? 1)}
          />
        </div>
      </Panel>
      {aside !== undefined && (
        <Aside
          text={aside}
          back={() => {
            type(aside);
            setAside(undefined);
          }}
          drop={() => setAside(undefined)}
        />
      )}
      {reviewed !== undefined && (
        <ReviewText
          text={reviewed}
          version={draft.base.version}
          close={() => setReviewed(undefined)}
          reread={props.reread}
          saved={({ version }) =>
            put({ base: { ...draft.base, text: reviewed, version }, text: reviewed })
          }
        />
      )}
    </>
  );
}

function ReviewText(props: {
  text: string;
  version: string;
  close: () => void;
  reread: () => void;
  saved: (changed: Changed) => void;
}) {
  const wish = useMemo(
    () => ({ method: "PUT" as const, path: "/api/config", text: props.text }),
    [props.text],
  );
  return (
    <Review
      title="Review changes"
      action="Save and apply"
      wish={wish}
      version={props.version}
      close={props.close}
      done={props.saved}
      conflict={() => {
        props.reread();
        props.close();
        say("The file has changed. Nothing was saved.", "bad");
      }}
    />
  );
}

function isBad(checked: Checked | undefined): boolean {
  return checked?.mistakes.some((it) => it.severity === "error") ?? false;
}

function Standing(props: { file: ConfigFile }) {
  const { file, writable } = props.file;
  if (!file) {
    return (
      <div className="note">
        No config file yet; showing the built-in defaults. Saving creates <code>tollgate.yaml</code>{" "}
        in the gateway's working directory.
      </div>
    );
  }
  return (
    <>
      {!writable && (
        <div className="note warn">
          This file is read-only for the gateway. Edit it here to preview changes, then copy the
          text to the source of the file. The gateway reloads it automatically.
        </div>
      )}
      <p className="help">
        Secrets are masked as <code>"***…"</code>. Leave them unchanged to keep their values.
      </p>
    </>
  );
}

function Verdict(props: { of: Checked | undefined; dirty: boolean }) {
  const { of, dirty } = props;
  if (!of) return <p className="quiet verdict">Checking…</p>;
  if (of.problem) return <Failure error={of.problem} />;
  const errors = of.mistakes.filter((it) => it.severity === "error").length;
  const warnings = of.mistakes.length - errors;
  if (errors > 0) {
    return (
      <p className="verdict error" role="status">
        {count(errors, "error")}. Fix {errors === 1 ? "it" : "them"} before saving.
      </p>
    );
  }
  const said = warnings > 0 ? `valid, with ${count(warnings, "warning")}` : "valid";
  return (
    <p className="verdict" role="status">
      {dirty ? `Your changes are ${said}.` : `The file is ${said}.`}
      {of.changed && dirty && <Consequence of={of.changed} />}
    </p>
  );
}

function Consequence(props: { of: NonNullable<Checked["changed"]> }) {
  const { servers, needs_restart } = props.of;
  const touched = [...servers.added, ...servers.restarted, ...servers.removed];
  return (
    <>
      {" "}
      {touched.length > 0 && `Affects ${touched.join(", ")}. `}
      {needs_restart.length > 0 && `Requires a gateway restart: ${needs_restart.join(", ")}.`}
    </>
  );
}
