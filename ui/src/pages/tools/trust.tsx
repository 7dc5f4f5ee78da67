// Trust of a tool's definition: pin, findings, changes and the decision.
import { useState } from "react";
import { ApiError, call, path } from "../../api/client";
import { invalidate } from "../../api/queries";
import type { Finding, ToolDetail } from "../../api/types";
import { Ago, Panel, StateBadge } from "../../kit/basics";
import { Confirm } from "../../kit/dialog";
import { Fact, Facts } from "../../kit/facts";
import { count } from "../../kit/format";
import { Table } from "../../kit/table";
import { showError, showToast } from "../../kit/toast";
import { escapeHidden, UntrustedText } from "../../kit/untrusted";
import { Changes } from "./changes";

export function TrustTab(props: { tool: ToolDetail }) {
  const { tool } = props;
  return (
    <>
      <Panel title="Verdict" actions={tool.hash && <Decide tool={tool} hash={tool.hash} />}>
        <Facts>
          <Fact name="Status">
            <StateBadge state={tool.verdict} /> {escapeHidden(tool.why ?? "")}
          </Fact>
          <Fact name="Trust">{describeTrust(tool)}</Fact>
          <Fact name="Current hash">
            <code>{tool.hash ?? "none"}</code>
          </Fact>
          {tool.pin && tool.pin.rejected.length > 0 && (
            <Fact name="Rejected">{count(tool.pin.rejected.length, "definition")}</Fact>
          )}
        </Facts>
      </Panel>
      {tool.findings.length > 0 && <Findings of={tool.findings} />}
      <Panel title="Changes since it was trusted">
        <Changes changes={tool.changes} />
      </Panel>
      <Panel title="Definition history">
        <History tool={tool} />
      </Panel>
    </>
  );
}

function describeTrust(tool: ToolDetail): string {
  if (!tool.pin?.hash) return "no trusted definition yet";
  return tool.pin.by === "person" ? "accepted by an admin" : "trusted on first use";
}

function Decide(props: { tool: ToolDetail; hash: string }) {
  const { tool, hash } = props;
  const [confirming, setConfirming] = useState<"accept" | "reject">();
  const decide = async (decision: "accept" | "reject") => {
    setConfirming(undefined);
    try {
      const address = `/api/tools${path(tool.server, tool.tool)}/${decision}`;
      await call("POST", address, { body: { hash } });
      showToast(
        decision === "accept"
          ? "Definition accepted. The tool is served."
          : "Definition rejected. The tool is hidden.",
      );
    } catch (error) {
      const problem = ApiError.from(error);
      if (problem.code === "other_definition") {
        showToast("The definition has changed again. Review it before you decide.", "bad");
      } else {
        showError(problem);
      }
    }
    invalidate("api/tools", "api/overview", "v1/tools");
  };
  const rejected = tool.pin?.rejected.includes(hash);
  return (
    <>
      {tool.pin?.hash !== hash || tool.pin?.by !== "person" || tool.verdict !== "served" ? (
        <button
          type="button"
          className={tool.verdict === "served" ? "" : "primary"}
          onClick={() => setConfirming("accept")}
        >
          Accept definition{" "}
        </button>
      ) : null}
      {!rejected && (
        <button type="button" className="danger" onClick={() => setConfirming("reject")}>
          Reject definition
        </button>
      )}
      {confirming && (
        <Confirm
          title={confirming === "accept" ? "Accept this definition?" : "Reject this definition?"}
          action={confirming === "accept" ? "Accept" : "Reject"}
          confirm={() => void decide(confirming)}
          close={() => setConfirming(undefined)}
        >
          <p>
            {confirming === "accept"
              ? "Agents see the tool with its current definition. Later changes are withheld until accepted."
              : "The tool is hidden from agents while it has this definition."}
          </p>
          <p>
            <code>{hash}</code>
          </p>
          <Changes changes={tool.changes} />
        </Confirm>
      )}
    </>
  );
}

function Findings(props: { of: Finding[] }) {
  return (
    <Panel title="Findings">
      <Table
        label="Findings"
        rows={props.of.map((it, at) => ({ ...it, id: String(at) }))}
        id={(row) => row.id}
        columns={[
          { id: "kind", title: "Kind", cell: (row) => escapeHidden(row.kind) },
          { id: "at", title: "Location", cell: (row) => <code>{escapeHidden(row.at)}</code> },
          {
            id: "text",
            title: "Finding",
            cell: (row) => <UntrustedText text={row.text} clip={300} />,
          },
          {
            id: "excerpt",
            title: "Excerpt",
            cell: (row) => (row.excerpt ? <UntrustedText text={row.excerpt} clip={200} /> : "–"),
          },
        ]}
      />
    </Panel>
  );
}

function History(props: { tool: ToolDetail }) {
  return (
    <Table
      label="Definition history"
      rows={props.tool.history}
      id={(row) => row.hash}
      empty="No history: pinning is disabled for this server."
      columns={[
        {
          id: "hash",
          title: "Hash",
          cell: (row) => (
            <code title={row.hash}>
              {row.hash.slice(0, 12)}
              {row.hash === props.tool.hash && " (current)"}
            </code>
          ),
        },
        { id: "state", title: "State", cell: (row) => <DecisionBadge state={row.state} /> },
        { id: "seen", title: "First seen", cell: (row) => <TimeCell time={row.first_seen} /> },
        { id: "decided", title: "Decided", cell: (row) => <TimeCell time={row.decided_at} /> },
        { id: "by", title: "By", cell: (row) => escapeHidden(row.decided_by ?? "–") },
      ]}
    />
  );
}

const TONES: Record<string, string> = { accepted: "good", rejected: "bad" };

function DecisionBadge(props: { state: string }) {
  return <span className={`badge ${TONES[props.state] ?? ""}`}>{escapeHidden(props.state)}</span>;
}

function TimeCell(props: { time: number | null }) {
  if (props.time === null) return "–";
  return <Ago time={new Date(props.time).toISOString()} />;
}
