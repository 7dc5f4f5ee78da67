// Editor for the config file: validated while typing, and reviewed before saving.
import { useId, useMemo, useRef, useState } from "react";
import type { ChangeResult } from "../api/types";
import { Failure, Page, Panel, QueryView } from "../kit/basics";
import { CopyButton, ShowAsCli } from "../kit/code";
import { type Editor, TextEditor } from "../kit/editor";
import { count } from "../kit/format";
import { Diagnostics, ReviewChange } from "../kit/review-change";
import { showToast } from "../kit/toast";
import { Conflict, DiscardedEdits } from "./settings/conflict";
import {
  type CheckedText,
  type ConfigFile,
  useCheck,
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
      actions={<ShowAsCli cli="tollgate check" path="/api/config" />}
    >
      <QueryView of={file}>
        {(data) => <Config file={data} reload={() => void file.refetch()} />}
      </QueryView>
      <div className="columns">
        <Reload />
        <About />
      </div>
    </Page>
  );
}

function Config(props: { file: ConfigFile; reload: () => void }) {
  const { file } = props;
  const { draft, dirty, update, conflict } = useDraft(file);
  const check = useCheck(draft.text);
  const [reviewing, setReviewing] = useState<string>();
  const [aside, setAside] = useState<string>();
  const editor = useRef<Editor>(null);
  const id = useId();
  const updateText = (text: string) => update({ base: draft.base, text });
  return (
    <>
      {conflict && <Conflict file={file} draft={draft} update={update} keepAside={setAside} />}
      <Panel
        title={file.file ?? "Built-in defaults"}
        actions={
          <>
            <button
              type="button"
              disabled={!dirty}
              onClick={() => update({ base: file, text: file.text })}
            >
              Discard changes
            </button>
            {file.writable ? (
              <button
                type="button"
                className="primary"
                disabled={!dirty || conflict || hasErrors(check)}
                onClick={() => setReviewing(draft.text)}
              >
                Review changes…
              </button>
            ) : (
              <CopyButton text={draft.text} label="Copy config" />
            )}
          </>
        }
      >
        <FileNotes file={file} />
        <TextEditor
          ref={editor}
          label="Config"
          text={draft.text}
          change={updateText}
          diagnostics={check?.text === draft.text ? check.diagnostics : []}
          describedBy={id}
        />
        <div id={id}>
          <CheckResult of={check?.text === draft.text ? check : undefined} dirty={dirty} />
          <Diagnostics
            of={check?.diagnostics ?? []}
            go={(it) => editor.current?.go(it.line ?? 1, it.column ?? 1)}
          />
        </div>
      </Panel>
      {aside !== undefined && (
        <DiscardedEdits
          text={aside}
          back={() => {
            updateText(aside);
            setAside(undefined);
          }}
          drop={() => setAside(undefined)}
        />
      )}
      {reviewing !== undefined && (
        <ReviewText
          text={reviewing}
          version={draft.base.version}
          close={() => setReviewing(undefined)}
          reload={props.reload}
          saved={({ version }) =>
            update({ base: { ...draft.base, text: reviewing, version }, text: reviewing })
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
  reload: () => void;
  saved: (result: ChangeResult) => void;
}) {
  const change = useMemo(
    () => ({ method: "PUT" as const, path: "/api/config", text: props.text }),
    [props.text],
  );
  return (
    <ReviewChange
      title="Review changes"
      action="Save and apply"
      change={change}
      version={props.version}
      close={props.close}
      onSaved={props.saved}
      conflict={() => {
        props.reload();
        props.close();
        showToast("The file has changed. Nothing was saved.", "bad");
      }}
    />
  );
}

function hasErrors(checked: CheckedText | undefined): boolean {
  return checked?.diagnostics.some((it) => it.severity === "error") ?? false;
}

function FileNotes(props: { file: ConfigFile }) {
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

function CheckResult(props: { of: CheckedText | undefined; dirty: boolean }) {
  const { of, dirty } = props;
  if (!of) return <p className="quiet verdict">Checking…</p>;
  if (of.problem) return <Failure error={of.problem} />;
  const errors = of.diagnostics.filter((it) => it.severity === "error").length;
  const warnings = of.diagnostics.length - errors;
  if (errors > 0) {
    return (
      <p className="verdict error" role="status">
        {count(errors, "error")}. Fix {errors === 1 ? "it" : "them"} before saving.
      </p>
    );
  }
  const verdict = warnings > 0 ? `valid, with ${count(warnings, "warning")}` : "valid";
  return (
    <p className="verdict" role="status">
      {dirty ? `Your changes are ${verdict}.` : `The file is ${verdict}.`}
      {of.changed && dirty && <ChangeImpact of={of.changed} />}
    </p>
  );
}

function ChangeImpact(props: { of: NonNullable<CheckedText["changed"]> }) {
  const { servers, needs_restart } = props.of;
  const affected = [...servers.added, ...servers.restarted, ...servers.removed];
  return (
    <>
      {" "}
      {affected.length > 0 && `Affects ${affected.join(", ")}. `}
      {needs_restart.length > 0 && `Requires a gateway restart: ${needs_restart.join(", ")}.`}
    </>
  );
}
