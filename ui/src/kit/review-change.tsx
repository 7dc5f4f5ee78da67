// Reviews and saves a change of the config. Every page that saves goes through here: the change is
// shown as a dry run first, and never overwrites a concurrent edit.
import { type ReactNode, useEffect, useState } from "react";
import { ApiError, call, get } from "../api/client";
import { invalidate } from "../api/queries";
import type { ChangeResult, Diagnostic, ServerDetail } from "../api/types";
import { Failure, Loading } from "./basics";
import { Code, Diff } from "./code";
import { Dialog } from "./dialog";
import { diffLines } from "./diff";
import { count } from "./format";
import { showToast } from "./toast";

export interface ConfigChange {
  method: "POST" | "PUT" | "DELETE";
  path: string;
  body?: unknown;
  /** The whole file; `path` is then the config's. */
  text?: string;
}

/** Shows the effect of a change on the file and the servers, and saves it on confirmation. */
export function ReviewChange(props: {
  title: string;
  action: string;
  change: ConfigChange;
  /** Version of the file that the change is based on; by default the current one. */
  version?: string | null;
  /** The edited server as it was when editing began. */
  original?: ServerDetail;
  /** Called on a conflict instead of showing it here. */
  conflict?: () => void;
  /** Additional help below an error. */
  errorHelp?: (problem: ApiError) => ReactNode;
  close: () => void;
  onSaved?: (result: ChangeResult) => void;
}) {
  const { close, onSaved, conflict } = props;
  // Save exactly what was reviewed, even if the page re-renders with something else.
  const [change] = useState(props.change);
  const [version, setVersion] = useState(props.version ?? undefined);
  const [preview, setPreview] = useState<ChangeResult>();
  const [problem, setProblem] = useState<ApiError>();
  const [saving, setSaving] = useState(false);
  const [writable, setWritable] = useState(true);

  const handleError = (error: unknown) => {
    const why = ApiError.from(error);
    if (conflict && isConflict(why)) conflict();
    else setProblem(why);
  };
  const loadPreview = async (knownVersion: string | undefined) => {
    setPreview(undefined);
    setProblem(undefined);
    try {
      const file = await get<{ version: string; writable?: boolean }>("/api/config?format=json");
      const base = knownVersion ?? file.version;
      setVersion(base);
      setWritable(file.writable ?? true);
      setPreview(await dryRun(change, base));
    } catch (error) {
      handleError(error);
    }
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when it opens
  useEffect(() => void loadPreview(version), []);

  const save = async () => {
    setSaving(true);
    try {
      const result = await sendChange(change, version);
      invalidate("api", "v1");
      showToast(result.diff.trim() ? "Saved" : "No changes to save");
      onSaved?.(result);
      close();
    } catch (error) {
      handleError(error);
    } finally {
      setSaving(false);
    }
  };

  return (
    <Dialog
      title={props.title}
      close={close}
      actions={
        <>
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button
            type="button"
            className={change.method === "DELETE" ? "danger" : "primary"}
            disabled={!preview || saving || problem !== undefined}
            onClick={() => void save()}
          >
            {saving ? "Saving…" : writable ? props.action : "Show config to copy"}
          </button>
        </>
      }
    >
      {problem ? (
        <>
          <ChangeError
            problem={problem}
            original={props.original}
            retry={() => void loadPreview(undefined)}
          />
          {props.errorHelp?.(problem)}
        </>
      ) : preview ? (
        <>
          {!writable && (
            <div className="note warn">
              The config file is read-only. This is a preview of the change.
            </div>
          )}
          <ChangeSummary of={preview} />
        </>
      ) : (
        <Loading />
      )}
    </Dialog>
  );
}

function dryRun(change: ConfigChange, version: string): Promise<ChangeResult> {
  if (change.text === undefined) {
    const path = `${change.path}${change.path.includes("?") ? "&" : "?"}dry_run=true`;
    return sendChange({ ...change, path }, version);
  }
  return sendChange({ ...change, method: "POST", path: `${change.path}/check` }, version);
}

function sendChange(change: ConfigChange, version: string | undefined): Promise<ChangeResult> {
  const headers: Record<string, string> = {};
  if (version) headers["if-match"] = `"${version}"`;
  if (change.text !== undefined) headers["content-type"] = "application/yaml";
  return call<ChangeResult>(change.method, change.path, {
    body: change.body,
    text: change.text,
    headers,
  });
}

/** The effect of a change: the diff, the servers, and settings that need a restart. */
export function ChangeSummary(props: { of: ChangeResult }) {
  const { diff, servers, needs_restart, report } = props.of;
  return (
    <>
      <Diff text={diff} />
      <ul className="effect">
        {servers.added.length > 0 && <li>Will start: {servers.added.join(", ")}</li>}
        {servers.restarted.length > 0 && <li>Will restart: {servers.restarted.join(", ")}</li>}
        {servers.removed.length > 0 && <li>Will stop: {servers.removed.join(", ")}</li>}
        <li className="quiet">{count(servers.kept.length, "other server")} unaffected</li>
      </ul>
      {needs_restart.length > 0 && (
        <div className="note warn">
          <span>
            Takes effect after a gateway restart: <code>{needs_restart.join(", ")}</code>
          </span>
        </div>
      )}
      <Diagnostics of={report.diagnostics} />
    </>
  );
}

/** Why a change was rejected, and how to continue. */
export function ChangeError(props: {
  problem: ApiError;
  original?: ServerDetail;
  retry: () => void;
}) {
  const { problem, original: edited } = props;
  if (problem.code === "unwritable_config") return <ManualEdit problem={problem} />;
  if (isConflict(problem)) return <VersionConflict original={edited} retry={props.retry} />;
  const errors = problem.more.errors;
  if (Array.isArray(errors)) {
    return (
      <>
        <div className="note bad" role="alert">
          This change would make the config invalid. Nothing was saved.
        </div>
        <Diagnostics of={errors as Diagnostic[]} />
      </>
    );
  }
  return <Failure error={problem} retry={props.retry} />;
}

export function isConflict(problem: ApiError): boolean {
  return problem.code === "other_version" || problem.code === "conflict";
}

/** The file is read-only for the gateway: show the text to copy. */
export function ManualEdit(props: { problem: ApiError }) {
  const { yaml } = props.problem.more;
  const [reason = ""] = props.problem.message.split(/; (?:write|take) /, 1);
  return (
    <>
      <div className="note warn" role="alert">
        {reason}. Edit the file yourself; the gateway reloads it automatically.
      </div>
      {typeof yaml === "string" ? (
        <Code text={yaml} label="config to copy" />
      ) : (
        <p>{props.problem.message}</p>
      )}
    </>
  );
}

function VersionConflict(props: { original?: ServerDetail; retry: () => void }) {
  const { original: edited } = props;
  const [theirs, setTheirs] = useState<string>();
  useEffect(() => {
    if (!edited) return;
    get<ServerDetail>(`/api/servers/${encodeURIComponent(edited.id)}`).then(
      (now) => setTheirs(diffLines(edited.yaml ?? "", now.yaml ?? "")),
      () => setTheirs(undefined),
    );
  }, [edited]);
  return (
    <>
      <div className="note warn" role="alert">
        <span>Someone else changed the config. Nothing was saved, and your edits are kept.</span>
        <button type="button" onClick={props.retry}>
          Review again
        </button>
      </div>
      {edited && theirs === "" && <p>The config of {edited.id} did not change.</p>}
      {edited && theirs && (
        <>
          <h3>Their changes to {edited.id}</h3>
          <Diff text={theirs} />
        </>
      )}
    </>
  );
}

export function Diagnostics(props: {
  of: readonly Diagnostic[];
  go?: (diagnostic: Diagnostic) => void;
}) {
  const { go } = props;
  if (props.of.length === 0) return null;
  return (
    <ul className="diagnostics">
      {props.of.map((it, at) => (
        <li key={at}>
          <span className={`badge ${it.severity === "error" ? "bad" : "warn"}`}>{it.severity}</span>
          <div>
            {it.line !== null && go ? (
              <button type="button" className="plain" onClick={() => go(it)}>
                line {it.line}
              </button>
            ) : (
              it.line !== null && <span className="quiet">line {it.line}</span>
            )}{" "}
            {it.message}
            {it.help.map((help) => (
              <p key={help} className="help">
                {help}
              </p>
            ))}
          </div>
        </li>
      ))}
    </ul>
  );
}
