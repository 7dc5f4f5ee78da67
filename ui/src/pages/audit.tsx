// The audit trail, with filters, export and verification.
import { useMemo, useState } from "react";
import { absoluteUrl, query } from "../api/client";
import { useRead } from "../api/queries";
import { type Agent, type AuditPage, type AuditRow, OUTCOMES, type Server } from "../api/types";
import { Empty, Failure, Loading, Page, StateBadge } from "../kit/basics";
import { ShowAsCli } from "../kit/code";
import { Dialog } from "../kit/dialog";
import { SelectFilter, TextFilter } from "../kit/filters";
import { count, ms } from "../kit/format";
import { type Column, Table } from "../kit/table";
import { setQuery, useRoute } from "../route";
import { useHasRight } from "../session";
import { RowDetail } from "./audit/detail";
import {
  auditPath,
  cliCommand,
  FILTER_NAMES,
  type Filter,
  type FilterName,
  KINDS,
  readFilter,
  TIME_RANGES,
} from "./audit/filter";
import { MAX_ROWS, useTrail } from "./audit/use-trail";
import { useVerify, VerifyNote } from "./audit/verify";
import "../style/audit.css";

export default function Audit() {
  const mayRead = useHasRight("admin");
  const { query: params } = useRoute();
  const filter = useMemo(() => readFilter(params), [params]);
  const verify = useVerify();
  return (
    <Page
      title="Audit"
      lead="One row for every call and every decision. Rows are hash-chained, so that tampering is detected."
      actions={
        <>
          {mayRead && (
            <button type="button" disabled={verify.busy} onClick={() => void verify.verify()}>
              {verify.busy ? "Verifying…" : "Verify"}
            </button>
          )}
          <ShowAsCli cli={cliCommand(filter)} path={auditPath(filter)} />
        </>
      }
    >
      <VerifyNote result={verify.found} problem={verify.problem} />
      {mayRead ? <Rows filter={filter} /> : <Empty>Requires the admin right.</Empty>}
    </Page>
  );
}

function Rows(props: { filter: Filter }) {
  const { filter } = props;
  const { query: params } = useRoute();
  const [following, setFollowing] = useState(false);
  const trail = useTrail(filter, following);
  const openSequence = Number(params.get("row")) || undefined;
  const found = trail.rows.find((row) => row.sequence === openSequence);
  return (
    <>
      <Filters filter={filter} />
      <div className="bar">
        <button type="button" aria-pressed={following} onClick={() => setFollowing(!following)}>
          {following ? "Stop following" : "Follow"}
        </button>
        <a className="button" href={exportUrl(filter, "jsonl")} download="audit.jsonl">
          Export JSONL
        </a>
        <a className="button" href={exportUrl(filter, "csv")} download="audit.csv">
          Export CSV
        </a>
        <span className="quiet" role="status">
          {following ? "Following new rows. " : ""}
          {count(trail.rows.length, "row")} shown
          {trail.rows.length >= MAX_ROWS ? ", oldest hidden" : ""}
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
      {openSequence && <OpenRow sequence={openSequence} known={found} />}
    </>
  );
}

const open = (row: AuditRow) => setQuery({ row: String(row.sequence) });
const close = () => setQuery({ row: undefined });

/** The row named in the URL, read again: a row that was tampered with has to show its current state. */
function OpenRow(props: { sequence: number; known?: AuditRow }) {
  const page = useRead<AuditPage>(
    `/api/audit${query({ after: props.sequence - 1, order: "oldest", limit: 1 })}`,
  );
  const row = page.data?.rows.find((it) => it.sequence === props.sequence) ?? props.known;
  if (row) return <RowDetail row={row} close={close} />;
  return (
    <Dialog title={`Row ${props.sequence}`} close={close} placement="side">
      {page.error ? (
        <Failure error={page.error} retry={() => void page.refetch()} />
      ) : page.isPending || page.isPlaceholderData ? (
        <Loading />
      ) : (
        <p>Row not found. It was removed or never written.</p>
      )}
    </Dialog>
  );
}

function exportUrl(filter: Filter, format: "jsonl" | "csv"): string {
  return absoluteUrl(auditPath(filter, { format }));
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
  const textFilter = (
    name: FilterName,
    label: string,
    options?: string[],
    placeholder?: string,
  ) => (
    <TextFilter
      label={label}
      value={filter[name]}
      options={options}
      placeholder={placeholder}
      choose={(value) => setQuery({ [name]: value, row: undefined })}
    />
  );
  return (
    <div className="filters">
      <label className={filter.since ? "filter set" : "filter"}>
        <span>Last</span>
        <select
          value={TIME_RANGES.some((span) => span.value === filter.since) ? filter.since : ""}
          onChange={(event) => setQuery({ since: event.target.value, until: undefined })}
        >
          <option value="">Any time</option>
          {TIME_RANGES.map((span) => (
            <option key={span.value} value={span.value}>
              {span.label}
            </option>
          ))}
        </select>
      </label>
      {textFilter("since", "From", undefined, "2026-11-15")}
      {textFilter("until", "To", undefined, "now")}
      <SelectFilter
        label="Kind"
        value={filter.kind}
        options={KINDS}
        choose={(kind) => setQuery({ kind })}
      />
      <SelectFilter
        label="Outcome"
        value={filter.outcome}
        options={OUTCOMES}
        choose={(outcome) => setQuery({ outcome })}
      />
      {textFilter("name", "Name", undefined, "fs_*")}
      {textFilter("principal", "Key")}
      {textFilter(
        "agent",
        "Agent",
        agents?.map((it) => it.name),
      )}
      {textFilter(
        "server",
        "Server",
        servers?.map((it) => it.id),
      )}
      {textFilter("tool", "Tool")}
      {filter.call && textFilter("call", "Call")}
      {Object.keys(filter).length > 0 && (
        <button type="button" className="plain" onClick={clear}>
          Clear filters{" "}
        </button>
      )}
    </div>
  );
}

const clear = () => setQuery(Object.fromEntries(FILTER_NAMES.map((name) => [name, undefined])));

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
