// The form for a new key. Empty fields are not sent.
import { type FormEvent, useMemo, useState } from "react";
import { Problem, post } from "../../api/client";
import { stale, useRead } from "../../api/queries";
import type { Agent, Key } from "../../api/types";
import { Failure, Field } from "../../kit/basics";
import { Dialog } from "../../kit/dialog";
import { listed } from "../../kit/glob";
import type { MadeKey } from "./secret";
import { Sees } from "./sees";

export const ROLES: readonly { id: Key["role"]; words: string }[] = [
  { id: "caller", words: "call tools" },
  { id: "operator", words: "monitor, and approve calls" },
  { id: "admin", words: "full access: servers, keys, config" },
];

const LIVES: readonly { days: number; words: string }[] = [
  { days: 0, words: "never" },
  { days: 1, words: "in 1 day" },
  { days: 7, words: "in 1 week" },
  { days: 30, words: "in 30 days" },
  { days: 90, words: "in 90 days" },
  { days: 365, words: "in 1 year" },
];

interface Typed {
  name: string;
  role: Key["role"];
  agents: string[];
  tools: string;
  days: number;
  rate_limit: string;
  concurrent: string;
  tenant: string;
}

const NOTHING: Typed = {
  name: "",
  role: "caller",
  agents: [],
  tools: "",
  days: 0,
  rate_limit: "",
  concurrent: "",
  tenant: "",
};

/** The request body. */
export function wanted(typed: Typed, now = Date.now()): Record<string, unknown> {
  const all = {
    name: typed.name.trim(),
    role: typed.role,
    agents: typed.agents.length > 0 ? typed.agents : undefined,
    tools: listed(typed.tools),
    rate_limit: typed.rate_limit.trim() || undefined,
    concurrent: typed.concurrent.trim() ? Number(typed.concurrent) : undefined,
    tenant: typed.tenant.trim() || undefined,
    expires: typed.days
      ? `${new Date(now + typed.days * 86_400_000).toISOString().slice(0, 19)}Z`
      : undefined,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

export function MakeKey(props: {
  /** Whether there are no keys yet: the first one ends keyless access. */
  first: boolean;
  close: () => void;
  made: (key: MadeKey) => void;
}) {
  const [typed, setTyped] = useState(NOTHING);
  const [problem, setProblem] = useState<Problem>();
  const [busy, setBusy] = useState(false);
  const set = (part: Partial<Typed>) => setTyped((before) => ({ ...before, ...part }));
  const make = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    try {
      const made = await post<MadeKey>("/api/keys", wanted(typed));
      stale("api/keys");
      props.made(made);
    } catch (error) {
      setProblem(Problem.of(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      title="Create key"
      close={props.close}
      actions={
        <>
          <button type="button" onClick={props.close}>
            Cancel
          </button>
          <button
            type="submit"
            form="make-key"
            className="primary"
            disabled={busy || !typed.name.trim()}
          >
            Create key
          </button>
        </>
      }
    >
      {props.first && (
        <div className="note warn">
          This is the first key. Clients on this machine will then need a key too.
        </div>
      )}
      {problem && <Failure error={problem} />}
      <form id="make-key" onSubmit={(event) => void make(event)}>
        <Fields typed={typed} set={set} />
      </form>
      <Preview typed={typed} />
    </Dialog>
  );
}

function Fields(props: { typed: Typed; set: (part: Partial<Typed>) => void }) {
  const { typed, set } = props;
  return (
    <>
      <Field label="Name" help="E.g. laptop-cursor. Shown in calls and in the audit trail.">
        {(id) => (
          <input
            id={id}
            value={typed.name}
            autoComplete="off"
            onChange={(event) => set({ name: event.target.value })}
          />
        )}
      </Field>
      <Field label="Role">
        {(id) => (
          <select
            id={id}
            value={typed.role}
            onChange={(event) => set({ role: event.target.value as Key["role"] })}
          >
            {ROLES.map((role) => (
              <option key={role.id} value={role.id}>
                {role.id}: {role.words}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Agents typed={typed} set={set} />
      <Field
        label="Tools"
        help="Names or globs such as fs_read_*, separated by commas. Default: all tools of its agents."
      >
        {(id) => (
          <input
            id={id}
            className="mono"
            value={typed.tools}
            autoComplete="off"
            onChange={(event) => set({ tools: event.target.value })}
          />
        )}
      </Field>
      <Field label="Expires">
        {(id) => (
          <select
            id={id}
            value={typed.days}
            onChange={(event) => set({ days: Number(event.target.value) })}
          >
            {LIVES.map((life) => (
              <option key={life.days} value={life.days}>
                {life.words}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Limits typed={typed} set={set} />
    </>
  );
}

function Agents(props: { typed: Typed; set: (part: Partial<Typed>) => void }) {
  const { typed, set } = props;
  const agents = useRead<{ agents: Agent[] }>("/api/agents").data?.agents ?? [];
  const toggled = (name: string) =>
    typed.agents.includes(name)
      ? typed.agents.filter((it) => it !== name)
      : [...typed.agents, name];
  return (
    <fieldset>
      <legend>Agents</legend>
      <div className="checks">
        {agents.map((it) => (
          <label key={it.name}>
            <input
              type="checkbox"
              checked={typed.agents.includes(it.name)}
              onChange={() => set({ agents: toggled(it.name) })}
            />
            {it.name}
          </label>
        ))}
      </div>
      <p className="help">Default: all agents, including future ones.</p>
    </fieldset>
  );
}

function Limits(props: { typed: Typed; set: (part: Partial<Typed>) => void }) {
  const { typed, set } = props;
  return (
    <details>
      <summary>Limits and tenant</summary>
      <Field label="Rate limit" help="E.g. 60/min. Units: s, min, h, day.">
        {(id) => (
          <input
            id={id}
            value={typed.rate_limit}
            onChange={(event) => set({ rate_limit: event.target.value })}
          />
        )}
      </Field>
      <Field label="Concurrent calls">
        {(id) => (
          <input
            id={id}
            type="number"
            min={1}
            value={typed.concurrent}
            onChange={(event) => set({ concurrent: event.target.value })}
          />
        )}
      </Field>
      <Field label="Tenant" help="The tenant whose memory it reads and writes.">
        {(id) => (
          <input
            id={id}
            value={typed.tenant}
            onChange={(event) => set({ tenant: event.target.value })}
          />
        )}
      </Field>
    </details>
  );
}

function Preview(props: { typed: Typed }) {
  const { agents, tools } = props.typed;
  const eyes = useMemo(
    () => ({ agents: agents.length > 0 ? agents : null, tools: listed(tools) ?? null }),
    [agents, tools],
  );
  const [open, setOpen] = useState(false);
  return (
    <details className="preview" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Preview visible tools</summary>
      {open && <Sees of={eyes} />}
    </details>
  );
}
