// Reviews and saves a change of the config. Every page that saves goes through here: the change is
// shown as a dry run first, and never overwrites a concurrent edit.
import { type ReactNode, useEffect, useState } from "react";
import { call, get, Problem } from "../api/client";
import { stale } from "../api/queries";
import type { Changed, Mistake, ServerDetail } from "../api/types";
import { Failure, Loading } from "./basics";
import { Code, Diff } from "./code";
import { Dialog } from "./dialog";
import { difference } from "./lines";
import { say } from "./toast";
import { count } from "./words";

export interface Wish {
  method: "POST" | "PUT" | "DELETE";
  path: string;
  body?: unknown;
  /** The whole file; `path` is then the config's. */
  text?: string;
}

/** Shows the effect of a change on the file and the servers, and saves it on confirmation. */
export function Review(props: {
  title: string;
  action: string;
  wish: Wish;
  /** Version of the file that the change is based on; by default the current one. */
  version?: string | null;
  /** The edited server as it was when editing began. */
  edited?: ServerDetail;
  /** Called on a conflict instead of showing it here. */
  conflict?: () => void;
  /** Additional help below an error. */
  advice?: (problem: Problem) => ReactNode;
  close: () => void;
  done?: (changed: Changed) => void;
}) {
  const { close, done, conflict } = props;
  // Save exactly what was reviewed, even if the page re-renders with something else.
  const [wish] = useState(props.wish);
  const [version, setVersion] = useState(props.version ?? undefined);
  const [changed, setChanged] = useState<Changed>();
  const [problem, setProblem] = useState<Problem>();
  const [saving, setSaving] = useState(false);
  const [writable, setWritable] = useState(true);

  const failed = (error: unknown) => {
    const why = Problem.of(error);
    if (conflict && isConflict(why)) conflict();
    else setProblem(why);
  };
  const look = async (known: string | undefined) => {
    setChanged(undefined);
    setProblem(undefined);
    try {
      const file = await get<{ version: string; writable?: boolean }>("/api/config?format=json");
      const base = known ?? file.version;
      setVersion(base);
      setWritable(file.writable ?? true);
      setChanged(await tried(wish, base));
    } catch (error) {
      failed(error);
    }
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when it opens
  useEffect(() => void look(version), []);

  const save = async () => {
    setSaving(true);
    try {
      const made = await ask(wish, version);
      stale("api", "v1");
      say(made.diff.trim() ? "Saved" : "No changes to save");
      done?.(made);
      close();
    } catch (error) {
      failed(error);
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
            className={wish.method === "DELETE" ? "danger" : "primary"}
            disabled={!changed || saving || problem !== undefined}
            onClick={() => void save()}
          >
            {saving ? "Saving…" : writable ? props.action : "Show config to copy"}
          </button>
        </>
      }
    >
      {problem ? (
        <>
          <Refused problem={problem} edited={props.edited} again={() => void look(undefined)} />
          {props.advice?.(problem)}
        </>
      ) : changed ? (
        <>
          {!writable && (
            <div className="note warn">
              The config file is read-only. This is a preview of the change.
            </div>
          )}
          <Effect of={changed} />
        </>
      ) : (
        <Loading />
      )}
    </Dialog>
  );
}

function tried(wish: Wish, version: string): Promise<Changed> {
  if (wish.text === undefined) {
    const path = `${wish.path}${wish.path.includes("?") ? "&" : "?"}dry_run=true`;
    return ask({ ...wish, path }, version);
  }
  return ask({ ...wish, method: "POST", path: `${wish.path}/check` }, version);
}

function ask(wish: Wish, version: string | undefined): Promise<Changed> {
  const headers: Record<string, string> = {};
  if (version) headers["if-match"] = `"${version}"`;
  if (wish.text !== undefined) headers["content-type"] = "application/yaml";
  return call<Changed>(wish.method, wish.path, { body: wish.body, text: wish.text, headers });
}

/** The effect of a change: the diff, the servers, and settings that need a restart. */
export function Effect(props: { of: Changed }) {
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
      <Mistakes of={report.diagnostics} />
    </>
  );
}

/** Why a change was rejected, and how to continue. */
export function Refused(props: { problem: Problem; edited?: ServerDetail; again: () => void }) {
  const { problem, edited } = props;
  if (problem.code === "unwritable_config") return <Paste problem={problem} />;
  if (isConflict(problem)) return <Conflict edited={edited} again={props.again} />;
  const errors = problem.more.errors;
  if (Array.isArray(errors)) {
    return (
      <>
        <div className="note bad" role="alert">
          This change would make the config invalid. Nothing was saved.
        </div>
        <Mistakes of={errors as Mistake[]} />
      </>
    );
  }
  return <Failure error={problem} again={props.again} />;
}

export function isConflict(problem: Problem): boolean {
  return problem.code === "other_version" || problem.code === "conflict";
}

/** The file is read-only for the gateway: show the text to copy. */
export function Paste(props: { problem: Problem }) {
  const { yaml } = props.problem.more;
  const [said = ""] = props.problem.message.split(/; (?:write|take) /, 1);
  return (
    <>
      <div className="note warn" role="alert">
        {said}. Edit the file yourself; the gateway reloads it automatically.
      </div>
      {typeof yaml === "string" ? (
        <Code text={yaml} label="config to copy" />
      ) : (
        <p>{props.problem.message}</p>
      )}
    </>
  );
}

function Conflict(props: { edited?: ServerDetail; again: () => void }) {
  const { edited } = props;
  const [theirs, setTheirs] = useState<string>();
  useEffect(() => {
    if (!edited) return;
    get<ServerDetail>(`/api/servers/${encodeURIComponent(edited.id)}`).then(
      (now) => setTheirs(difference(edited.yaml ?? "", now.yaml ?? "")),
      () => setTheirs(undefined),
    );
  }, [edited]);
  return (
    <>
      <div className="note warn" role="alert">
        <span>Someone else changed the config. Nothing was saved, and your edits are kept.</span>
        <button type="button" onClick={props.again}>
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

export function Mistakes(props: { of: readonly Mistake[]; go?: (mistake: Mistake) => void }) {
  const { go } = props;
  if (props.of.length === 0) return null;
  return (
    <ul className="mistakes">
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
