// Trust of a tool's definition: pin, findings, changes and the decision.
import { useState } from "react";
import { call, Problem, path } from "../../api/client";
import { stale } from "../../api/queries";
import type { Finding, ToolDetail } from "../../api/types";
import { Ago, Panel, StateBadge } from "../../kit/basics";
import { Confirm } from "../../kit/dialog";
import { Fact, Facts } from "../../kit/facts";
import { Foreign, visible } from "../../kit/foreign";
import { Table } from "../../kit/table";
import { complain, say } from "../../kit/toast";
import { count } from "../../kit/words";
import { Changes } from "./changes";

export function TrustTab(props: { tool: ToolDetail }) {
  const { tool } = props;
  return (
    <>
      <Panel title="Verdict" actions={tool.hash && <Decide tool={tool} hash={tool.hash} />}>
        <Facts>
          <Fact name="Status">
            <StateBadge state={tool.verdict} /> {visible(tool.why ?? "")}
          </Fact>
          <Fact name="Trust">{trustedBy(tool)}</Fact>
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

function trustedBy(tool: ToolDetail): string {
  if (!tool.pin?.hash) return "no trusted definition yet";
  return tool.pin.by === "person" ? "accepted by an admin" : "trusted on first use";
}

function Decide(props: { tool: ToolDetail; hash: string }) {
  const { tool, hash } = props;
  const [asked, setAsked] = useState<"accept" | "reject">();
  const decide = async (decision: "accept" | "reject") => {
    setAsked(undefined);
    try {
      const address = `/api/tools${path(tool.server, tool.tool)}/${decision}`;
      await call("POST", address, { body: { hash } });
      say(
        decision === "accept"
          ? "Definition accepted. The tool is served."
          : "Definition rejected. The tool is hidden.",
      );
    } catch (error) {
      const problem = Problem.of(error);
      if (problem.code === "other_definition") {
        say("The definition has changed again. Review it before you decide.", "bad");
      } else {
        complain(problem);
      }
    }
    stale("api/tools", "api/overview", "v1/tools");
  };
  const rejected = tool.pin?.rejected.includes(hash);
  return (
    <>
      {tool.pin?.hash !== hash || tool.pin?.by !== "person" || tool.verdict !== "served" ? (
        <button
          type="button"
          className={tool.verdict === "served" ? "" : "primary"}
          onClick={() => setAsked("accept")}
        >
          Accept definition{" "}
        </button>
      ) : null}
      {!rejected && (
        <button type="button" className="danger" onClick={() => setAsked("reject")}>
          Reject definition
        </button>
      )}
      {asked && (
        <Confirm
          title={asked === "accept" ? "Accept this definition?" : "Reject this definition?"}
          action={asked === "accept" ? "Accept" : "Reject"}
          confirm={() => void decide(asked)}
          close={() => setAsked(undefined)}
        >
          <p>
            {asked === "accept"
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
          { id: "kind", title: "Kind", cell: (row) => visible(row.kind) },
          { id: "at", title: "Location", cell: (row) => <code>{visible(row.at)}</code> },
          { id: "text", title: "Finding", cell: (row) => <Foreign text={row.text} clip={300} /> },
          {
            id: "excerpt",
            title: "Excerpt",
            cell: (row) => (row.excerpt ? <Foreign text={row.excerpt} clip={200} /> : "–"),
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
        { id: "state", title: "State", cell: (row) => <Decided state={row.state} /> },
        { id: "seen", title: "First seen", cell: (row) => <At time={row.first_seen} /> },
        { id: "decided", title: "Decided", cell: (row) => <At time={row.decided_at} /> },
        { id: "by", title: "By", cell: (row) => visible(row.decided_by ?? "–") },
      ]}
    />
  );
}

const TONES: Record<string, string> = { accepted: "good", rejected: "bad" };

function Decided(props: { state: string }) {
  return <span className={`badge ${TONES[props.state] ?? ""}`}>{visible(props.state)}</span>;
}

function At(props: { time: number | null }) {
  if (props.time === null) return "–";
  return <Ago time={new Date(props.time).toISOString()} />;
}
