// API keys: those of the config, and those created here.
import { useState } from "react";
import { call, path, post, query } from "../api/client";
import { invalidate, useRead } from "../api/queries";
import type { Key } from "../api/types";
import { Ago, Failure, Page, QueryView } from "../kit/basics";
import { ShowAsCli } from "../kit/code";
import { Confirm, Dialog } from "../kit/dialog";
import { count, dateTime } from "../kit/format";
import { type Column, Table } from "../kit/table";
import { showError, showToast } from "../kit/toast";
import { to } from "../route";
import { CreateKey } from "./keys/create";
import { type CreatedKey, SecretDialog } from "./keys/secret";
import { VisibleTools } from "./keys/visible-tools";
import "../style/keys.css";

type OpenDialog =
  | { what: "make" }
  | { what: "created"; created: CreatedKey }
  | { what: "revoke" | "rotate" | "sees"; key: Key };

export default function KeysPage() {
  const keys = useRead<{ keys: Key[] }>("/api/keys", 10_000);
  const [open, setOpen] = useState<OpenDialog>();
  const close = () => setOpen(undefined);
  return (
    <Page
      title="Keys"
      lead="API keys and their permissions. A secret is shown only once, when it is created."
      actions={
        <>
          <ShowAsCli cli="tollgate keys list" path="/api/keys" />
          <button type="button" className="primary" onClick={() => setOpen({ what: "make" })}>
            Create key
          </button>
        </>
      }
    >
      <QueryView of={keys}>{(data) => <KeyTable keys={data.keys} open={setOpen} />}</QueryView>
      {open?.what === "make" && (
        <CreateKey
          first={keys.data?.keys.length === 0}
          close={close}
          onCreated={(created) => setOpen({ what: "created", created })}
        />
      )}
      {open?.what === "created" && <SecretDialog created={open.created} close={close} />}
      {open?.what === "sees" && (
        <Dialog title={`Tools visible to ${open.key.name}`} close={close} placement="side">
          <VisibleTools of={open.key} />
        </Dialog>
      )}
      {open?.what === "revoke" && <Revoke of={open.key} close={close} />}
      {open?.what === "rotate" && (
        <Rotate
          of={open.key}
          close={close}
          onCreated={(created) => setOpen({ what: "created", created })}
        />
      )}
    </Page>
  );
}

function KeyTable(props: { keys: Key[]; open: (open: OpenDialog) => void }) {
  return (
    <Table
      label="Keys"
      rows={props.keys}
      id={(row) => row.origin + row.name}
      columns={columns(props.open)}
      empty={
        <>
          <p>No keys. Only clients on this machine can call tools.</p>
          <p>
            Create one for each remote client, or to tell clients apart.{" "}
            <a href={to("connect")}>Connect</a> sets up a client and its key in one step.
          </p>
        </>
      }
    />
  );
}

function columns(open: (open: OpenDialog) => void): Column<Key>[] {
  return [
    {
      id: "name",
      title: "Name",
      sortValue: (row) => row.name,
      cell: (row) => (
        <>
          <strong>{row.name}</strong> <KeyStatus of={row} />
        </>
      ),
    },
    { id: "role", title: "Role", sortValue: (row) => row.role, cell: (row) => row.role },
    {
      id: "access",
      title: "Access",
      cell: (row) => (
        <div className="key-access">
          <span>{row.agents ? `agents ${row.agents.join(", ")}` : "all agents"}</span>
          <span className="quiet">
            {row.tools ? `tools ${row.tools.join(", ") || "none"}` : "all tools"}
          </span>
          <KeyLimits of={row} />
        </div>
      ),
    },
    {
      id: "used",
      title: "Last used",
      sortValue: (row) => row.last_used ?? "",
      cell: (row) =>
        row.origin === "config" ? (
          <a href={to("calls") + query({ principal: `key:${row.name}` })}>View calls</a>
        ) : (
          <Ago time={row.last_used} />
        ),
    },
    {
      id: "expires",
      title: "Expires",
      sortValue: (row) => row.expires ?? "9",
      cell: (row) => (row.expires ? dateTime(row.expires) : <span className="quiet">never</span>),
    },
    {
      id: "actions",
      title: <span className="hidden">Actions</span>,
      cell: (row) => <Actions of={row} open={open} />,
    },
  ];
}

function KeyLimits(props: { of: Key }) {
  const { rate_limit, concurrent, tenant, rights } = props.of;
  const words = [
    rights.join(", "),
    rate_limit && `rate limit ${rate_limit}`,
    concurrent && count(concurrent, "concurrent call"),
    tenant && `tenant ${tenant}`,
  ].filter(Boolean);
  return <span className="quiet">{words.join(" · ")}</span>;
}

function KeyStatus(props: { of: Key }) {
  const { of } = props;
  if (of.revoked) return <span className="badge">revoked</span>;
  if (of.expires && Date.parse(of.expires) < Date.now()) {
    return <span className="badge bad">expired</span>;
  }
  if (of.former_until && Date.parse(of.former_until) > Date.now()) {
    return <span className="badge warn">old secret valid until {dateTime(of.former_until)}</span>;
  }
  return of.origin === "config" ? <span className="badge">config</span> : null;
}

function Actions(props: { of: Key; open: (open: OpenDialog) => void }) {
  const { of, open } = props;
  const labelFor = (what: string) => `${what} ${of.name}`;
  return (
    <div className="row-actions">
      <button
        type="button"
        className="small"
        aria-label={labelFor("Tools visible to")}
        onClick={() => open({ what: "sees", key: of })}
      >
        Tools…
      </button>
      {of.origin === "config" ? (
        <a href={to("settings")}>Edit in config</a>
      ) : (
        !of.revoked && (
          <>
            <button
              type="button"
              className="small"
              aria-label={labelFor("Rotate")}
              onClick={() => open({ what: "rotate", key: of })}
            >
              Rotate
            </button>
            <button
              type="button"
              className="small danger"
              aria-label={labelFor("Revoke")}
              onClick={() => open({ what: "revoke", key: of })}
            >
              Revoke
            </button>
          </>
        )
      )}
    </div>
  );
}

function Revoke(props: { of: Key; close: () => void }) {
  const { name } = props.of;
  const [busy, setBusy] = useState(false);
  const revoke = async () => {
    setBusy(true);
    try {
      await call("DELETE", path("api", "keys", name));
      showToast(`Key ${name} revoked`);
      invalidate("api/keys");
    } catch (error) {
      showError(error);
    }
    props.close();
  };
  return (
    <Confirm
      title={`Revoke ${name}?`}
      action="Revoke key"
      confirm={() => void revoke()}
      close={props.close}
      busy={busy}
    >
      <p>
        The key stops working immediately, and its sessions and streams are closed. This cannot be
        undone.
      </p>
    </Confirm>
  );
}

const GRACE_PERIODS: readonly { seconds: number; label: string }[] = [
  { seconds: 0, label: "immediately" },
  { seconds: 3600, label: "in 1 hour" },
  { seconds: 86_400, label: "in 1 day" },
  { seconds: 7 * 86_400, label: "in 1 week" },
];

function Rotate(props: { of: Key; close: () => void; onCreated: (created: CreatedKey) => void }) {
  const { name } = props.of;
  const [grace, setGrace] = useState(3600);
  // A second rotation would invalidate the secret that is in use.
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>();
  const rotate = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      const route = `${path("api", "keys", name)}/rotate`;
      props.onCreated(await post<CreatedKey>(route, { grace_s: grace }));
      invalidate("api/keys");
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  return (
    <Confirm
      title={`Rotate ${name}`}
      action="Rotate key"
      confirm={() => void rotate()}
      close={props.close}
      busy={busy}
    >
      {problem !== undefined && <Failure error={problem} />}
      <label>
        The current secret expires{" "}
        <select value={grace} onChange={(event) => setGrace(Number(event.target.value))}>
          {GRACE_PERIODS.map((it) => (
            <option key={it.seconds} value={it.seconds}>
              {it.label}
            </option>
          ))}
        </select>
      </label>
    </Confirm>
  );
}
