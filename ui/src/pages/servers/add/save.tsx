// The last steps: test the server, select tools and agents, save.
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { type Problem, query } from "../../../api/client";
import { useRead } from "../../../api/queries";
import type { Keys, Mistake, ServerDetail, Trial } from "../../../api/types";
import { Panel, StateBadge } from "../../../kit/basics";
import { Review, type Wish } from "../../../kit/change";
import { Foreign } from "../../../kit/foreign";
import { count } from "../../../kit/words";
import { to } from "../../../route";
import { put } from "../keys";
import { TrialView, useTrial } from "../trial";
import { AgentChoice, useAgents } from "./agents";
import { type Draft, forFile, forTrial } from "./draft";
import { Exports } from "./exports";

export function TryAndSave(props: {
  draft: Draft;
  change: (draft: Draft) => void;
  back: () => void;
  saved: () => void;
}) {
  const { draft, change } = props;
  const { tried, begin, stop } = useTrial();
  const [refused, setRefused] = useState<ReadonlySet<string>>(new Set());
  const [open, setOpen] = useState(false);
  const agents = useAgents();
  const [chosen, choose] = useState<string[]>();
  const seenBy = chosen ?? agents.usual;
  const again = () => void begin(draft.name, forTrial(draft));
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the step begins
  useEffect(() => again(), []);
  const { report } = tried;
  const keys = useMemo(() => allowed(forFile(draft), report, refused), [draft, report, refused]);
  return (
    <>
      <Panel title={`Testing ${draft.name}`}>
        <TrialView of={tried} stop={stop} again={again} />
      </Panel>
      {report?.ok && <ToolChoice of={report.tools} refused={refused} change={setRefused} />}
      {!tried.running && <AgentChoice of={agents.all} chosen={seenBy} choose={choose} />}
      <div className="bar">
        <button type="button" onClick={props.back}>
          Back
        </button>
        <button type="button" disabled={tried.running} onClick={again}>
          Test again
        </button>
        <button
          type="button"
          className={report?.ok ? "primary" : ""}
          disabled={tried.running}
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
          advice={(problem) => <Unset of={problem} draft={draft} change={change} />}
        />
      )}
    </>
  );
}

function Save(props: {
  name: string;
  keys: Keys;
  agents: string[];
  close: () => void;
  saved: () => void;
  advice: (problem: Problem) => ReactNode;
}) {
  const agents = props.agents.join(",");
  const wish = useMemo<Wish>(
    () => ({
      method: "POST",
      path: `/api/servers${query({ agents })}`,
      body: { name: props.name, ...props.keys },
    }),
    [props.name, props.keys, agents],
  );
  return (
    <Review
      title={`Add ${props.name}`}
      action="Save"
      wish={wish}
      close={props.close}
      done={props.saved}
      advice={props.advice}
    />
  );
}

/** Sets the allowlist to the selected tools; without a deselected one all tools are allowed. */
export function allowed(keys: Keys, report: Trial | undefined, refused: ReadonlySet<string>): Keys {
  if (!report || refused.size === 0) return keys;
  const names = report.tools.map((it) => it.name).filter((it) => !refused.has(it));
  return names.length === 0 ? put(keys, ["deny"], ["*"]) : put(keys, ["allow"], names);
}

/** Help for references to variables that are not set in the gateway's environment. */
function Unset(props: { of: Problem; draft: Draft; change: (draft: Draft) => void }) {
  const { draft, change } = props;
  const errors = (props.of.more.errors ?? []) as Mistake[];
  const names = errors.flatMap((it) => /variable `(\w+)` is not set/.exec(it.message)?.[1] ?? []);
  if (names.length === 0) return null;
  const known = names.every((name) => draft.values[name]);
  const inConfig = () => {
    const places = Object.fromEntries(names.map((name) => [name, "config" as const]));
    change({ ...draft, places: { ...draft.places, ...places } });
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
  of: Trial["tools"];
  refused: ReadonlySet<string>;
  change: (refused: ReadonlySet<string>) => void;
}) {
  const { of, refused, change } = props;
  const [filter, setFilter] = useState("");
  const wanted = filter.trim().toLowerCase();
  const shown = of.filter((it) => `${it.name} ${it.description}`.toLowerCase().includes(wanted));
  const set = (names: readonly string[], out: "in" | "out") => {
    const next = new Set(refused);
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
      title={`${of.length - refused.size} of ${count(of.length, "tool")} allowed`}
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
                checked={!refused.has(it.name)}
                onChange={() => set([it.name], refused.has(it.name) ? "in" : "out")}
              />
              <code>
                <Foreign text={it.name} clip={80} />
              </code>
            </label>
            <span className="quiet">
              <Foreign text={it.description ?? it.title ?? ""} clip={160} />
            </span>
          </li>
        ))}
      </ul>
      <p className="help">
        {refused.size === 0
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
      <p className="standing" role="status">
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
