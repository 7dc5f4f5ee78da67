// The last steps: test the server, select tools and agents, save.
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { type ApiError, query } from "../../../api/client";
import { useRead } from "../../../api/queries";
import type { Diagnostic, ServerConfig, ServerDetail, TrialReport } from "../../../api/types";
import { Panel, StateBadge } from "../../../kit/basics";
import { count } from "../../../kit/format";
import { type ConfigChange, ReviewChange } from "../../../kit/review-change";
import { UntrustedText } from "../../../kit/untrusted";
import { to } from "../../../route";
import { setAt } from "../config";
import { TrialView, useTrial } from "../trial";
import { AgentChoice, useAgents } from "./agents";
import { configForFile, configForTrial, type ServerDraft } from "./draft";
import { Exports } from "./exports";

export function TestAndSave(props: {
  draft: ServerDraft;
  change: (draft: ServerDraft) => void;
  back: () => void;
  saved: () => void;
}) {
  const { draft, change } = props;
  const { trial, start: begin, stop } = useTrial();
  const [deselected, setDeselected] = useState<ReadonlySet<string>>(new Set());
  const [open, setOpen] = useState(false);
  const agents = useAgents();
  const [chosen, choose] = useState<string[]>();
  const seenBy = chosen ?? agents.defaults;
  const start = () => void begin(draft.name, configForTrial(draft));
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the step begins
  useEffect(() => start(), []);
  const { report } = trial;
  const keys = useMemo(
    () => withAllowedTools(configForFile(draft), report, deselected),
    [draft, report, deselected],
  );
  return (
    <>
      <Panel title={`Testing ${draft.name}`}>
        <TrialView of={trial} stop={stop} retry={start} />
      </Panel>
      {report?.ok && (
        <ToolChoice of={report.tools} deselected={deselected} change={setDeselected} />
      )}
      {!trial.running && <AgentChoice of={agents.all} chosen={seenBy} choose={choose} />}
      <div className="bar">
        <button type="button" onClick={props.back}>
          Back
        </button>
        <button type="button" disabled={trial.running} onClick={start}>
          Test again
        </button>
        <button
          type="button"
          className={report?.ok ? "primary" : ""}
          disabled={trial.running}
          onClick={() => setOpen(true)}
        >
          {report?.ok ? "Review changes…" : "Save anyway…"}
        </button>
      </div>
      {open && (
        <Save
          key={JSON.stringify([keys, seenBy])}
          name={draft.name}
          keys={keys}
          agents={seenBy}
          close={() => setOpen(false)}
          saved={props.saved}
          errorHelp={(problem) => <UnsetVariables of={problem} draft={draft} change={change} />}
        />
      )}
    </>
  );
}

function Save(props: {
  name: string;
  keys: ServerConfig;
  agents: string[];
  close: () => void;
  saved: () => void;
  errorHelp: (problem: ApiError) => ReactNode;
}) {
  const agents = props.agents.join(",");
  const change = useMemo<ConfigChange>(
    () => ({
      method: "POST",
      path: `/api/servers${query({ agents })}`,
      body: { name: props.name, ...props.keys },
    }),
    [props.name, props.keys, agents],
  );
  return (
    <ReviewChange
      title={`Add ${props.name}`}
      action="Save"
      change={change}
      close={props.close}
      onSaved={props.saved}
      errorHelp={props.errorHelp}
    />
  );
}

/** Sets the allowlist to the selected tools; without a deselected one all tools are allowed. */
export function withAllowedTools(
  keys: ServerConfig,
  report: TrialReport | undefined,
  refused: ReadonlySet<string>,
): ServerConfig {
  if (!report || refused.size === 0) return keys;
  const names = report.tools.map((it) => it.name).filter((it) => !refused.has(it));
  return names.length === 0 ? setAt(keys, ["deny"], ["*"]) : setAt(keys, ["allow"], names);
}

/** Help for references to variables that are not set in the gateway's environment. */
function UnsetVariables(props: {
  of: ApiError;
  draft: ServerDraft;
  change: (draft: ServerDraft) => void;
}) {
  const { draft, change } = props;
  const errors = (props.of.more.errors ?? []) as Diagnostic[];
  const names = errors.flatMap((it) => /variable `(\w+)` is not set/.exec(it.message)?.[1] ?? []);
  if (names.length === 0) return null;
  const known = names.every((name) => draft.values[name]);
  const inConfig = () => {
    const storage = Object.fromEntries(names.map((name) => [name, "config" as const]));
    change({ ...draft, storage: { ...draft.storage, ...storage } });
  };
  return (
    <>
      <p>
        Not set in the gateway's environment: {names.join(", ")}. Stop the gateway, run this in its
        shell, start it again and add the server:
      </p>
      <Exports of={draft} />
      {known && (
        <p className="bar">
          <span>Or, if only you can read the config file:</span>
          <button type="button" onClick={inConfig}>
            Store in the config instead
          </button>
        </p>
      )}
    </>
  );
}

function ToolChoice(props: {
  of: TrialReport["tools"];
  deselected: ReadonlySet<string>;
  change: (deselected: ReadonlySet<string>) => void;
}) {
  const { of, deselected, change } = props;
  const [filter, setFilter] = useState("");
  const needle = filter.trim().toLowerCase();
  const shown = of.filter((it) => `${it.name} ${it.description}`.toLowerCase().includes(needle));
  const set = (names: readonly string[], out: "in" | "out") => {
    const next = new Set(deselected);
    for (const name of names) out === "out" ? next.add(name) : next.delete(name);
    change(next);
  };
  const names = shown.map((it) => it.name);
  if (of.length === 0) {
    return (
      <div className="note">This server offers no tools. It may offer prompts or resources.</div>
    );
  }
  return (
    <Panel
      title={`${of.length - deselected.size} of ${count(of.length, "tool")} allowed`}
      actions={
        <>
          <input
            type="search"
            aria-label="Filter tools"
            placeholder="Name or description"
            value={filter}
            onChange={(event) => setFilter(event.target.value)}
          />
          <button type="button" onClick={() => set(names, "in")}>
            All
          </button>
          <button type="button" onClick={() => set(names, "out")}>
            None
          </button>
        </>
      }
    >
      <ul className="tool-choice">
        {shown.map((it) => (
          <li key={it.name}>
            <label>
              <input
                type="checkbox"
                checked={!deselected.has(it.name)}
                onChange={() => set([it.name], deselected.has(it.name) ? "in" : "out")}
              />
              <code>
                <UntrustedText text={it.name} clip={80} />
              </code>
            </label>
            <span className="quiet">
              <UntrustedText text={it.description ?? it.title ?? ""} clip={160} />
            </span>
          </li>
        ))}
      </ul>
      <p className="help">
        {deselected.size === 0
          ? "All tools are allowed, including future ones."
          : "Only the selected tools are allowed. New tools have to be allowed first."}
      </p>
    </Panel>
  );
}

export function Done(props: { name: string; more: number; next: () => void }) {
  const { name } = props;
  const server = useRead<ServerDetail>(`/api/servers/${encodeURIComponent(name)}`, 1000).data;
  return (
    <Panel title={`${name} added`}>
      <p className="server-status" role="status">
        {server ? (
          <>
            <StateBadge state={server.state} /> {server.reason}, {count(server.tools, "tool")}
          </>
        ) : (
          "Starting…"
        )}
      </p>
      <div className="bar">
        <a className="button primary" href={`${to("tools")}?server=${encodeURIComponent(name)}`}>
          Try its tools
        </a>
        <a className="button" href={to("connect")}>
          Connect a client
        </a>
        <a className="button" href={to("servers", name)}>
          View server
        </a>
        <button type="button" onClick={props.next}>
          {props.more > 0 ? `Set up next (${props.more} left)` : "Add another"}
        </button>
      </div>
    </Panel>
  );
}
