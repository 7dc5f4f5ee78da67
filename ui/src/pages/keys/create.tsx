// The form for a new key. Empty fields are not sent.
import { type FormEvent, useMemo, useState } from "react";
import { ApiError, post } from "../../api/client";
import { invalidate, useRead } from "../../api/queries";
import type { Agent, Key } from "../../api/types";
import { Failure, Field } from "../../kit/basics";
import { Dialog } from "../../kit/dialog";
import { parseList } from "../../kit/glob";
import type { CreatedKey } from "./secret";
import { VisibleTools } from "./visible-tools";

export const ROLES: readonly { id: Key["role"]; label: string }[] = [
  { id: "caller", label: "call tools" },
  { id: "operator", label: "monitor, and approve calls" },
  { id: "admin", label: "full access: servers, keys, config" },
];

const EXPIRIES: readonly { days: number; label: string }[] = [
  { days: 0, label: "never" },
  { days: 1, label: "in 1 day" },
  { days: 7, label: "in 1 week" },
  { days: 30, label: "in 30 days" },
  { days: 90, label: "in 90 days" },
  { days: 365, label: "in 1 year" },
];

interface KeyInput {
  name: string;
  role: Key["role"];
  agents: string[];
  tools: string;
  days: number;
  rate_limit: string;
  concurrent: string;
  tenant: string;
}

const EMPTY_INPUT: KeyInput = {
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
export function requestBody(input: KeyInput, now = Date.now()): Record<string, unknown> {
  const all = {
    name: input.name.trim(),
    role: input.role,
    agents: input.agents.length > 0 ? input.agents : undefined,
    tools: parseList(input.tools),
    rate_limit: input.rate_limit.trim() || undefined,
    concurrent: input.concurrent.trim() ? Number(input.concurrent) : undefined,
    tenant: input.tenant.trim() || undefined,
    expires: input.days
      ? `${new Date(now + input.days * 86_400_000).toISOString().slice(0, 19)}Z`
      : undefined,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

export function CreateKey(props: {
  /** Whether there are no keys yet: the first one ends keyless access. */
  first: boolean;
  close: () => void;
  onCreated: (key: CreatedKey) => void;
}) {
  const [input, setInput] = useState(EMPTY_INPUT);
  const [problem, setProblem] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const set = (part: Partial<KeyInput>) => setInput((before) => ({ ...before, ...part }));
  const create = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    try {
      const created = await post<CreatedKey>("/api/keys", requestBody(input));
      invalidate("api/keys");
      props.onCreated(created);
    } catch (error) {
      setProblem(ApiError.from(error));
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
            disabled={busy || !input.name.trim()}
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
      <form id="make-key" onSubmit={(event) => void create(event)}>
        <Fields input={input} set={set} />
      </form>
      <Preview input={input} />
    </Dialog>
  );
}

function Fields(props: { input: KeyInput; set: (part: Partial<KeyInput>) => void }) {
  const { input, set } = props;
  return (
    <>
      <Field label="Name" help="E.g. laptop-cursor. Shown in calls and in the audit trail.">
        {(id) => (
          <input
            id={id}
            value={input.name}
            autoComplete="off"
            onChange={(event) => set({ name: event.target.value })}
          />
        )}
      </Field>
      <Field label="Role">
        {(id) => (
          <select
            id={id}
            value={input.role}
            onChange={(event) => set({ role: event.target.value as Key["role"] })}
          >
            {ROLES.map((role) => (
              <option key={role.id} value={role.id}>
                {role.id}: {role.label}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Agents input={input} set={set} />
      <Field
        label="Tools"
        help="Names or globs such as fs_read_*, separated by commas. Default: all tools of its agents."
      >
        {(id) => (
          <input
            id={id}
            className="mono"
            value={input.tools}
            autoComplete="off"
            onChange={(event) => set({ tools: event.target.value })}
          />
        )}
      </Field>
      <Field label="Expires">
        {(id) => (
          <select
            id={id}
            value={input.days}
            onChange={(event) => set({ days: Number(event.target.value) })}
          >
            {EXPIRIES.map((life) => (
              <option key={life.days} value={life.days}>
                {life.label}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Limits input={input} set={set} />
    </>
  );
}

function Agents(props: { input: KeyInput; set: (part: Partial<KeyInput>) => void }) {
  const { input, set } = props;
  const agents = useRead<{ agents: Agent[] }>("/api/agents").data?.agents ?? [];
  const toggle = (name: string) =>
    input.agents.includes(name)
      ? input.agents.filter((it) => it !== name)
      : [...input.agents, name];
  return (
    <fieldset>
      <legend>Agents</legend>
      <div className="checks">
        {agents.map((it) => (
          <label key={it.name}>
            <input
              type="checkbox"
              checked={input.agents.includes(it.name)}
              onChange={() => set({ agents: toggle(it.name) })}
            />
            {it.name}
          </label>
        ))}
      </div>
      <p className="help">Default: all agents, including future ones.</p>
    </fieldset>
  );
}

function Limits(props: { input: KeyInput; set: (part: Partial<KeyInput>) => void }) {
  const { input, set } = props;
  return (
    <details>
      <summary>Limits and tenant</summary>
      <Field label="Rate limit" help="E.g. 60/min. Units: s, min, h, day.">
        {(id) => (
          <input
            id={id}
            value={input.rate_limit}
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
            value={input.concurrent}
            onChange={(event) => set({ concurrent: event.target.value })}
          />
        )}
      </Field>
      <Field label="Tenant" help="The tenant whose memory it reads and writes.">
        {(id) => (
          <input
            id={id}
            value={input.tenant}
            onChange={(event) => set({ tenant: event.target.value })}
          />
        )}
      </Field>
    </details>
  );
}

function Preview(props: { input: KeyInput }) {
  const { agents, tools } = props.input;
  const access = useMemo(
    () => ({ agents: agents.length > 0 ? agents : null, tools: parseList(tools) ?? null }),
    [agents, tools],
  );
  const [open, setOpen] = useState(false);
  return (
    <details className="preview" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Preview visible tools</summary>
      {open && <VisibleTools of={access} />}
    </details>
  );
}
