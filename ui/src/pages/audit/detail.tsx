// All fields of one audit row.
import type { AuditRow } from "../../api/types";
import { StateBadge, TierBadge } from "../../kit/basics";
import { CopyButton, Json } from "../../kit/code";
import { Dialog } from "../../kit/dialog";
import { Fact, Facts } from "../../kit/facts";
import { bytes, dateTime, ms } from "../../kit/format";
import { to } from "../../route";

export function RowDetail(props: { row: AuditRow; close: () => void }) {
  const { row } = props;
  return (
    <Dialog
      title={`Row ${row.sequence}: ${row.name ?? row.kind}`}
      close={props.close}
      placement="side"
    >
      <Facts>
        <Fact name="Time">{dateTime(row.at)}</Fact>
        <Fact name="Kind">{row.kind}</Fact>
        <Fact name="Outcome">
          <StateBadge state={row.outcome} />
        </Fact>
        <Fact name="Detail">{row.detail}</Fact>
        <Fact name="Key">{row.principal}</Fact>
        <Fact name="Agent">{row.agent && <a href={to("agents", row.agent)}>{row.agent}</a>}</Fact>
        <Fact name="Method">{row.method}</Fact>
        <Fact name="Tool">{row.server && row.tool && <ToolLink row={row} />}</Fact>
        <Fact name="Server">
          {row.server && <a href={to("servers", row.server)}>{row.server}</a>}
        </Fact>
        <Fact name="Tier">{row.tier && <TierBadge tier={row.tier} />}</Fact>
        <Fact name="Duration">{row.duration_ms !== undefined && ms(row.duration_ms)}</Fact>
        <Fact name="Result">{row.bytes !== undefined && bytes(row.bytes)}</Fact>
        <Fact name="Cached">{row.cached && "yes"}</Fact>
        <Fact name="Catalog version">{row.catalog_version}</Fact>
        <Fact name="Call">{row.call && <CallLink id={row.call} />}</Fact>
        <Fact name="Parent call">{row.within && <CallLink id={row.within} />}</Fact>
        <Fact name="Arguments hash">{row.arguments_hash && <code>{row.arguments_hash}</code>}</Fact>
        <Fact name="Row hash">
          <code>{row.hash}</code>
        </Fact>
      </Facts>
      {row.arguments !== undefined && (
        <>
          <h3>Arguments</h3>
          <Json value={row.arguments} label="arguments" />
        </>
      )}
      <h3>Raw</h3>
      <Json value={row} label="row" />
    </Dialog>
  );
}

function ToolLink(props: { row: AuditRow }) {
  const { server = "", tool = "" } = props.row;
  return (
    <a href={to("tools", server, tool)}>
      {server}/{tool}
    </a>
  );
}

function CallLink(props: { id: string }) {
  return (
    <>
      <a href={`${to("calls")}?call=${encodeURIComponent(props.id)}`}>
        <code>{props.id}</code>
      </a>{" "}
      <CopyButton text={props.id} />
    </>
  );
}
