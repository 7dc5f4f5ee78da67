// Details of one call: facts, its turn as a waterfall, its steps, and its audit row.
import { query } from "../../api/client";
import { useRead } from "../../api/queries";
import type { AuditPage, AuditRow, Call } from "../../api/types";
import { Failure, Loading, StateBadge, TierBadge } from "../../kit/basics";
import { CopyButton, Json } from "../../kit/code";
import { Dialog } from "../../kit/dialog";
import { Fact, Facts } from "../../kit/facts";
import { bytes, dateTime, ms } from "../../kit/format";
import { to } from "../../route";
import { useHasRight } from "../../session";
import { TurnHead } from "./turn-list";
import type { Turn } from "./turns";
import { Legend, STEPS, Waterfall } from "./waterfall";

const POLL_INTERVAL_MS = 2000;

export function CallDetail(props: {
  id: string;
  call?: Call;
  turn?: Turn;
  open: (id: string) => void;
  close: () => void;
}) {
  const { id, call, turn } = props;
  const allowed = useHasRight("admin");
  const rowOf = (page?: AuditPage) => page?.rows.find((it) => it.call === id);
  // The audit row is written when the call ends.
  const trail = useRead<AuditPage>(
    allowed ? `/api/audit${query({ call: id })}` : undefined,
    (page) => (rowOf(page) ? undefined : POLL_INTERVAL_MS),
  );
  const row = rowOf(trail.data);
  return (
    <Dialog title={call?.name ?? row?.name ?? "Call"} close={props.close} placement="side">
      {call ? (
        <CallFacts call={call} />
      ) : row ? (
        <AuditFacts row={row} />
      ) : (
        <MissingCall loading={trail.isPending && allowed} error={trail.error} />
      )}
      {turn && (
        <>
          <h3>Turn</h3>
          <TurnHead turn={turn} />
          <Waterfall turn={turn} chosen={id} open={props.open} />
          <Legend />
        </>
      )}
      {call && <Steps of={call} />}
      <h3>Arguments</h3>
      <Arguments allowed={allowed} row={row} />
      <p>
        <a href={`${to("audit")}${query({ call: id })}`}>View in the audit trail</a>
      </p>
    </Dialog>
  );
}

function CallFacts(props: { call: Call }) {
  const { call } = props;
  return (
    <Facts>
      <Fact name="Outcome">
        <StateBadge state={call.outcome} /> {call.cached && <span className="badge">cached</span>}{" "}
        {call.detail}
      </Fact>
      <Fact name="Tool">
        <ToolLink of={call} />
      </Fact>
      <Fact name="Agent">
        <a href={to("agents", call.agent)}>{call.agent}</a>
      </Fact>
      <Fact name="Key">{call.principal}</Fact>
      <Fact name="Tier">
        <TierBadge tier={call.tier} />
      </Fact>
      <Fact name="Started">{dateTime(call.at)}</Fact>
      <Fact name="Duration">{call.outcome === null ? "running" : ms(call.duration_ms)}</Fact>
      <Fact name="Result">{bytes(call.result_bytes)}</Fact>
      <Fact name="Method">{call.method}</Fact>
      <Fact name="Call">
        <Id of={call.id} />
      </Fact>
      <Fact name="Turn">
        <Id of={call.turn} />
      </Fact>
      <Fact name="Parent call">{call.within && <Id of={call.within} />}</Fact>
    </Facts>
  );
}

function AuditFacts(props: { row: AuditRow }) {
  const { row } = props;
  return (
    <>
      <p className="quiet">No longer in memory. Showing the audit row.</p>
      <Facts>
        <Fact name="Outcome">
          <StateBadge state={row.outcome} />
        </Fact>
        <Fact name="Tool">
          <ToolLink of={row} />
        </Fact>
        <Fact name="Agent">{row.agent}</Fact>
        <Fact name="Key">{row.principal}</Fact>
        <Fact name="Started">{dateTime(row.at)}</Fact>
        <Fact name="Duration">{ms(row.duration_ms)}</Fact>
        <Fact name="Detail">{row.detail}</Fact>
      </Facts>
    </>
  );
}

function MissingCall(props: { loading: boolean; error: unknown }) {
  if (props.error) return <Failure error={props.error} />;
  if (props.loading) return <Loading />;
  return <p className="quiet">Call not found.</p>;
}

function ToolLink(props: { of: { server?: string | null; tool?: string | null; name?: string } }) {
  const { server, tool, name } = props.of;
  if (!server || !tool) return <>{name ?? "–"}</>;
  return (
    <a href={to("tools", server, tool)}>
      {server}/{tool}
    </a>
  );
}

function Id(props: { of: string }) {
  return (
    <span className="id">
      <code>{props.of}</code> <CopyButton text={props.of} />
    </span>
  );
}

function Steps(props: { of: Call }) {
  const { steps } = props.of;
  if (steps.length === 0) return null;
  const labelOf = (step: string) => STEPS.find((it) => it.step === step)?.label ?? step;
  return (
    <>
      <h3>Steps</h3>
      <table aria-label="Steps">
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col" className="number">
              Start{" "}
            </th>
            <th scope="col" className="number">
              Duration{" "}
            </th>
          </tr>
        </thead>
        <tbody>
          {steps.map((step, at) => (
            <tr key={at}>
              <td>
                <span className={`swatch step-${step.step}`} /> {labelOf(step.step)} {step.note}
              </td>
              <td className="number">{ms(step.from_ms)}</td>
              <td className="number">
                {step.to_ms === null ? "running" : ms(step.to_ms - step.from_ms)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function Arguments(props: { allowed: boolean; row?: AuditRow }) {
  const { row } = props;
  if (!props.allowed) return <p className="quiet">Requires the admin right.</p>;
  if (row?.arguments !== undefined) return <Json value={row.arguments} label="arguments" />;
  if (!row) return <p className="quiet">Not in the audit trail yet.</p>;
  return (
    <p className="quiet">
      Not recorded. Set <code>audit: {"{ arguments: redacted }"}</code> in the config to record them
      without secrets.
      {row.arguments_hash && (
        <>
          {" "}
          SHA-256: <code>{row.arguments_hash}</code>
        </>
      )}
    </p>
  );
}
