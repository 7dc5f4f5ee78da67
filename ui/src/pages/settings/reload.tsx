// How the file was last read, and what runs here.
import { useState } from "react";
import { call, Problem } from "../../api/client";
import { stale, useRead } from "../../api/queries";
import type { Attempt, Overview } from "../../api/types";
import { Ago, Failure, Panel, Shown, StateBadge } from "../../kit/basics";
import { Mistakes } from "../../kit/change";
import { AsCommand } from "../../kit/code";
import { Fact, Facts } from "../../kit/facts";
import { say } from "../../kit/toast";

export function Reload() {
  const last = useRead<{ last: Attempt | null; applied: number; refused: number }>(
    "/api/reload",
    10_000,
  );
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const reload = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      const attempt = await call<Attempt>("POST", "/api/reload");
      say(attempt.outcome === "refused" ? "The file has mistakes" : `The file: ${attempt.outcome}`);
      stale("api", "v1");
    } catch (error) {
      setProblem(Problem.of(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Panel
      title="Reload"
      actions={
        <>
          <AsCommand cli="tollgate reload" method="POST" path="/api/reload" />
          <button type="button" disabled={busy} onClick={() => void reload()}>
            Read the file again
          </button>
        </>
      }
    >
      <p className="help">
        A saved file is taken by itself. Reading it again also reads the files that{" "}
        <code>$&#123;file:…&#125;</code> names.
      </p>
      {problem && <Failure error={problem} />}
      <Shown of={last}>
        {(data) => (
          <>
            {data.last ? <LastReload of={data.last} /> : <p>Not read again since the start.</p>}
            <p className="quiet">
              Since the start {data.applied} applied, {data.refused} refused.
            </p>
          </>
        )}
      </Shown>
    </Panel>
  );
}

function LastReload(props: { of: Attempt }) {
  const { of } = props;
  return (
    <>
      <p>
        <StateBadge state={of.outcome} /> <Ago time={of.at} />, by {of.by}
        {of.servers && of.servers.restarted.length > 0 && (
          <>; started again: {of.servers.restarted.join(", ")}</>
        )}
      </p>
      {of.error && <div className="note bad">{of.error}; the config from before goes on.</div>}
      {of.needs_restart && of.needs_restart.length > 0 && (
        <div className="note warn">
          Counts when the gateway is started again: {of.needs_restart.join(", ")}
        </div>
      )}
      <Mistakes of={of.report.diagnostics} />
    </>
  );
}

export function About() {
  const overview = useRead<Overview>("/api/overview");
  const secure = location.protocol === "https:";
  return (
    <Panel title="This gateway">
      <Shown of={overview}>
        {(data) => (
          <Facts>
            <Fact name="Version">{data.version}</Fact>
            <Fact name="Listens on">{data.listen}</Fact>
            <Fact name="Environment">{data.environment}</Fact>
            <Fact name="Config">
              {data.config.file ?? "built in"}
              {data.config.good ? "" : ", with mistakes: the one from before runs"}
            </Fact>
          </Facts>
        )}
      </Shown>
      <p className="help">
        {secure ? (
          <>
            You see this page over TLS. Clients trust the gateway if they trust its certificate;
            with <code>tollgate serve --tls</code> that is <code>tls/ca.pem</code> in the data
            directory.
          </>
        ) : (
          <>
            Plain HTTP: fine on this machine. From elsewhere use <code>tollgate serve --tls</code>,
            or <code>tls:</code> in the config.
          </>
        )}
      </p>
    </Panel>
  );
}
