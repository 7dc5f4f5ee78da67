// Who may come in: keys of the config and those made here.
import { useState } from "react";
import { call, path, post, query } from "../api/client";
import { stale, useRead } from "../api/queries";
import type { Key } from "../api/types";
import { Ago, Failure, Page, Shown } from "../kit/basics";
import { AsCommand } from "../kit/code";
import { Confirm, Dialog } from "../kit/dialog";
import { type Column, Table } from "../kit/table";
import { complain, say } from "../kit/toast";
import { moment } from "../kit/words";
import { to } from "../route";
import { MakeKey } from "./keys/make";
import { type MadeKey, SecretDialog } from "./keys/secret";
import { Sees } from "./keys/sees";
import "../style/keys.css";

type Open =
  | { what: "make" }
  | { what: "made"; made: MadeKey }
  | { what: "revoke" | "rotate" | "sees"; key: Key };

export default function KeysPage() {
  const keys = useRead<{ keys: Key[] }>("/api/keys", 10_000);
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  return (
    <Page
      title="Keys"
      lead="Who may come in, and what they may do. A secret is shown when it is made, and never again."
      actions={
        <>
          <AsCommand cli="tollgate keys list" path="/api/keys" />
          <button type="button" className="primary" onClick={() => setOpen({ what: "make" })}>
            Make a key
          </button>
        </>
      }
    >
      <Shown of={keys}>{(data) => <List keys={data.keys} open={setOpen} />}</Shown>
      {open?.what === "make" && (
        <MakeKey
          first={keys.data?.keys.length === 0}
          close={close}
          made={(made) => setOpen({ what: "made", made })}
        />
      )}
      {open?.what === "made" && <SecretDialog made={open.made} close={close} />}
      {open?.what === "sees" && (
        <Dialog title={`What ${open.key.name} sees`} close={close} place="side">
          <Sees of={open.key} />
        </Dialog>
      )}
      {open?.what === "revoke" && <Revoke of={open.key} close={close} />}
      {open?.what === "rotate" && (
        <Rotate of={open.key} close={close} made={(made) => setOpen({ what: "made", made })} />
      )}
    </Page>
  );
}

function List(props: { keys: Key[]; open: (open: Open) => void }) {
  return (
    <Table
      label="Keys"
      rows={props.keys}
      id={(row) => row.origin + row.name}
      columns={columns(props.open)}
      empty={
        <>
          <p>There are no keys: whoever is on this machine may call tools, nobody else.</p>
          <p>
            Make one for each client that comes from elsewhere, or to tell clients apart. The page{" "}
            <a href={to("connect")}>Connect</a> does both at once.
          </p>
        </>
      }
    />
  );
}

function columns(open: (open: Open) => void): Column<Key>[] {
  return [
    {
      id: "name",
      title: "Name",
      by: (row) => row.name,
      cell: (row) => (
        <>
          <strong>{row.name}</strong> <Standing of={row} />
        </>
      ),
    },
    { id: "role", title: "Role", by: (row) => row.role, cell: (row) => row.role },
    {
      id: "opens",
      title: "Opens",
      cell: (row) => (
        <div className="opened">
          <span>{row.agents ? `agents ${row.agents.join(", ")}` : "every agent"}</span>
          <span className="quiet">
            {row.tools ? `tools ${row.tools.join(", ") || "none"}` : "all of their tools"}
          </span>
          <Limit of={row} />
        </div>
      ),
    },
    {
      id: "used",
      title: "Last used",
      by: (row) => row.last_used ?? "",
      cell: (row) =>
        row.origin === "config" ? (
          <a href={to("calls") + query({ principal: `key:${row.name}` })}>its calls</a>
        ) : (
          <Ago time={row.last_used} />
        ),
    },
    {
      id: "expires",
      title: "Expires",
      by: (row) => row.expires ?? "9",
      cell: (row) => (row.expires ? moment(row.expires) : <span className="quiet">never</span>),
    },
    {
      id: "actions",
      title: <span className="hidden">Actions</span>,
      cell: (row) => <Actions of={row} open={open} />,
    },
  ];
}

function Limit(props: { of: Key }) {
  const { rate_limit, concurrent, tenant, rights } = props.of;
  const words = [
    rights.join(", "),
    rate_limit && `at most ${rate_limit}`,
    concurrent && `${concurrent} at a time`,
    tenant && `tenant ${tenant}`,
  ].filter(Boolean);
  return <span className="quiet">{words.join(" · ")}</span>;
}

function Standing(props: { of: Key }) {
  const { of } = props;
  if (of.revoked) return <span className="badge">revoked</span>;
  if (of.expires && Date.parse(of.expires) < Date.now()) {
    return <span className="badge bad">expired</span>;
  }
  if (of.former_until && Date.parse(of.former_until) > Date.now()) {
    return <span className="badge warn">two secrets until {moment(of.former_until)}</span>;
  }
  return of.origin === "config" ? <span className="badge">config</span> : null;
}

function Actions(props: { of: Key; open: (open: Open) => void }) {
  const { of, open } = props;
  const about = (what: string) => `${what} ${of.name}`;
  return (
    <div className="row-actions">
      <button
        type="button"
        className="small"
        aria-label={about("What sees")}
        onClick={() => open({ what: "sees", key: of })}
      >
        Sees…
      </button>
      {of.origin === "config" ? (
        <a href={to("settings")}>In the config</a>
      ) : (
        !of.revoked && (
          <>
            <button
              type="button"
              className="small"
              aria-label={about("Rotate")}
              onClick={() => open({ what: "rotate", key: of })}
            >
              Rotate
            </button>
            <button
              type="button"
              className="small danger"
              aria-label={about("Revoke")}
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
      say(`${name} lets nobody in any more`);
      stale("api/keys");
    } catch (error) {
      complain(error);
    }
    props.close();
  };
  return (
    <Confirm
      title={`Revoke ${name}?`}
      action="Revoke it"
      confirm={() => void revoke()}
      close={props.close}
      busy={busy}
    >
      <p>
        It lets nobody in from then on; its sessions and streams end. This cannot be taken back.
      </p>
    </Confirm>
  );
}

const GRACES: readonly { seconds: number; words: string }[] = [
  { seconds: 0, words: "not at all" },
  { seconds: 3600, words: "for an hour" },
  { seconds: 86_400, words: "for a day" },
  { seconds: 7 * 86_400, words: "for a week" },
];

function Rotate(props: { of: Key; close: () => void; made: (made: MadeKey) => void }) {
  const { name } = props.of;
  const [grace, setGrace] = useState(3600);
  // Rotated twice, the secret that is in use would be let in no longer.
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>();
  const rotate = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      const route = `${path("api", "keys", name)}/rotate`;
      props.made(await post<MadeKey>(route, { grace_s: grace }));
      stale("api/keys");
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  return (
    <Confirm
      title={`Another secret for ${name}`}
      action="Rotate it"
      confirm={() => void rotate()}
      close={props.close}
      busy={busy}
    >
      {problem !== undefined && <Failure error={problem} />}
      <label>
        The secret it has now lets in{" "}
        <select value={grace} onChange={(event) => setGrace(Number(event.target.value))}>
          {GRACES.map((it) => (
            <option key={it.seconds} value={it.seconds}>
              {it.words}
            </option>
          ))}
        </select>{" "}
        longer.
      </label>
    </Confirm>
  );
}
