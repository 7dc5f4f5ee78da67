// The audit trail, with filters, export and verification.
import { useMemo, useState } from "react";
import { address, query } from "../api/client";
import { useRead } from "../api/queries";
import { type Agent, type AuditPage, type AuditRow, OUTCOMES, type Server } from "../api/types";
import { Empty, Failure, Loading, Page, StateBadge } from "../kit/basics";
import { AsCommand } from "../kit/code";
import { Dialog } from "../kit/dialog";
import { Choice, Typed } from "../kit/filters";
import { type Column, Table } from "../kit/table";
import { count, ms } from "../kit/words";
import { narrow, useRoute } from "../route";
import { useMay } from "../session";
import { Detail } from "./audit/detail";
import { command, type Filter, KINDS, NAMES, type Name, read, route, SPANS } from "./audit/filter";
import { MOST, useTrail } from "./audit/use-trail";
import { Result, useVerify } from "./audit/verify";
import "../style/audit.css";

export default function Audit() {
  const may = useMay("admin");
  const { query: asked } = useRoute();
  const filter = useMemo(() => read(asked), [asked]);
  const verify = useVerify();
  return (
    <Page
      title="Audit"
      lead="One row for every call and every decision. Rows are hash-chained, so that tampering is detected."
      actions={
        <>
          {may && (
            <button type="button" disabled={verify.busy} onClick={() => void verify.verify()}>
              {verify.busy ? "Verifying…" : "Verify"}
            </button>
          )}
          <AsCommand cli={command(filter)} path={route(filter)} />
        </>
      }
    >
      <Result found={verify.found} problem={verify.problem} />
      {may ? <Rows filter={filter} /> : <Empty>Requires the admin right.</Empty>}
    </Page>
  );
}

function Rows(props: { filter: Filter }) {
  const { filter } = props;
  const { query: asked } = useRoute();
  const [followed, setFollowed] = useState(false);
  const trail = useTrail(filter, followed);
  const opened = Number(asked.get("row")) || undefined;
  const found = trail.rows.find((row) => row.sequence === opened);
  return (
    <>
      <Filters filter={filter} />
      <div className="bar">
        <button type="button" aria-pressed={followed} onClick={() => setFollowed(!followed)}>
          {followed ? "Stop following" : "Follow"}
        </button>
        <a className="button" href={exported(filter, "jsonl")} download="audit.jsonl">
          Export JSONL
        </a>
        <a className="button" href={exported(filter, "csv")} download="audit.csv">
          Export CSV
        </a>
        <span className="quiet" role="status">
          {followed ? "Following new rows. " : ""}
          {count(trail.rows.length, "row")} shown
          {trail.rows.length >= MOST ? ", oldest hidden" : ""}
        </span>
      </div>
      {trail.problem && <Failure error={trail.problem} />}
      {trail.loading && trail.rows.length === 0 && <Loading />}
      {!trail.loading && !trail.problem && trail.rows.length === 0 ? (
        <NoRows filtered={Object.keys(filter).length > 0} />
      ) : (
        <div className="panel audit-list one-line">
          <Table
            label="Audit trail"
            rows={trail.rows}
            id={(row) => String(row.sequence)}
            columns={COLUMNS}
            open={open}
            height={37}
          />
        </div>
      )}
      {trail.more && (
        <p className="audit-more">
          <button type="button" disabled={trail.loading} onClick={trail.more}>
            Load older rows
          </button>
        </p>
      )}
      {opened && <Opened sequence={opened} known={found} />}
    </>
  );
}

const open = (row: AuditRow) => narrow({ row: String(row.sequence) });
const close = () => narrow({ row: undefined });

/** The row named in the URL, read again: a row that was tampered with has to show its current state. */
function Opened(props: { sequence: number; known?: AuditRow }) {
  const page = useRead<AuditPage>(
    `/api/audit${query({ after: props.sequence - 1, order: "oldest", limit: 1 })}`,
  );
  const row = page.data?.rows.find((it) => it.sequence === props.sequence) ?? props.known;
  if (row) return <Detail row={row} close={close} />;
  return (
    <Dialog title={`Row ${props.sequence}`} close={close} place="side">
      {page.error ? (
        <Failure error={page.error} again={() => void page.refetch()} />
      ) : page.isPending || page.isPlaceholderData ? (
        <Loading />
      ) : (
        <p>Row not found. It was removed or never written.</p>
      )}
    </Dialog>
  );
}

function exported(filter: Filter, format: "jsonl" | "csv"): string {
  return address(route(filter, { format }));
}

/** Date and time in sortable order. */
const TIME = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium" });

const COLUMNS: readonly Column<AuditRow>[] = [
  { id: "sequence", title: "Row", className: "number", cell: (row) => row.sequence },
  {
    id: "at",
    title: "Time",
    className: "number",
    cell: (row) => <time dateTime={row.at}>{TIME.format(Date.parse(row.at))}</time>,
  },
  { id: "kind", title: "Kind", cell: (row) => row.kind },
  {
    id: "name",
    title: "Name",
    cell: (row) => (
      <button type="button" className="plain" title={row.name} onClick={() => open(row)}>
        {row.name ?? row.method ?? row.kind}
      </button>
    ),
  },
  { id: "server", title: "Server", cell: (row) => row.server ?? "–" },
  { id: "principal", title: "Key", cell: (row) => row.principal },
  { id: "agent", title: "Agent", cell: (row) => row.agent ?? "–" },
  { id: "outcome", title: "Outcome", cell: (row) => <StateBadge state={row.outcome} /> },
  { id: "took", title: "Duration", className: "number", cell: (row) => ms(row.duration_ms) },
];

function Filters(props: { filter: Filter }) {
  const { filter } = props;
  const servers = useRead<{ servers: Server[] }>("/api/servers").data?.servers;
  const agents = useRead<{ agents: Agent[] }>("/api/agents").data?.agents;
  const typed = (name: Name, label: string, options?: string[], placeholder?: string) => (
    <Typed
      label={label}
      value={filter[name]}
      options={options}
      placeholder={placeholder}
      choose={(value) => narrow({ [name]: value, row: undefined })}
    />
  );
  return (
    <div className="filters">
      <label className={filter.since ? "filter set" : "filter"}>
        <span>Last</span>
        <select
          value={SPANS.some((span) => span.value === filter.since) ? filter.since : ""}
          onChange={(event) => narrow({ since: event.target.value, until: undefined })}
        >
          <option value="">Any time</option>
          {SPANS.map((span) => (
            <option key={span.value} value={span.value}>
              {span.words}
            </option>
          ))}
        </select>
      </label>
      {typed("since", "From", undefined, "2026-11-15")}
      {typed("until", "To", undefined, "now")}
      <Choice
        label="Kind"
        value={filter.kind}
        options={KINDS}
        choose={(kind) => narrow({ kind })}
      />
      <Choice
        label="Outcome"
        value={filter.outcome}
        options={OUTCOMES}
        choose={(outcome) => narrow({ outcome })}
      />
      {typed("name", "Name", undefined, "fs_*")}
      {typed("principal", "Key")}
      {typed(
        "agent",
        "Agent",
        agents?.map((it) => it.name),
      )}
      {typed(
        "server",
        "Server",
        servers?.map((it) => it.id),
      )}
      {typed("tool", "Tool")}
      {filter.call && typed("call", "Call")}
      {Object.keys(filter).length > 0 && (
        <button type="button" className="plain" onClick={clear}>
          Clear filters{" "}
        </button>
      )}
    </div>
  );
}

const clear = () => narrow(Object.fromEntries(NAMES.map((name) => [name, undefined])));

function NoRows(props: { filtered: boolean }) {
  return (
    <Empty>
      {props.filtered ? (
        <>
          No rows match these filters.{" "}
          <button type="button" className="plain" onClick={clear}>
            Clear filters
          </button>
        </>
      ) : (
        "No rows yet."
      )}
    </Empty>
  );
}
