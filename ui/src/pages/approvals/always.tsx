// "Always allow" is a config change; it is reviewed before it is saved.

import { useEffect, useState } from "react";
import { get, Problem, path, post } from "../../api/client";
import { stale } from "../../api/queries";
import type { Approval, Keys, ServerDetail } from "../../api/types";
import { Failure, Loading } from "../../kit/basics";
import { Review } from "../../kit/change";
import { Dialog } from "../../kit/dialog";
import { say } from "../../kit/toast";
import { to } from "../../route";

export function AlwaysAllow(props: { approval: Approval; close: () => void }) {
  const { approval, close } = props;
  const place = path("api", "servers", approval.server);
  // Read once, without the cache: the reviewed change is saved, and only to the same version.
  const [server, setServer] = useState<ServerDetail>();
  const [problem, setProblem] = useState<Problem>();
  const [reading, setReading] = useState(1);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each reading is a new one
  useEffect(() => {
    const gone = new AbortController();
    get<ServerDetail>(place, gone.signal).then(setServer, (error) => {
      if (!gone.signal.aborted) setProblem(Problem.of(error));
    });
    return () => gone.abort();
  }, [place, reading]);
  const title = `Always allow ${approval.name}?`;
  if (server?.config) {
    return (
      <Review
        title={title}
        action="Save and approve"
        wish={{ method: "PUT", path: place, body: unasked(server.config, approval.tool) }}
        version={server.version}
        conflict={() => {
          say("Someone else changed the config. Review again.");
          setServer(undefined);
          setReading(reading + 1);
        }}
        close={close}
        done={() => void approve(approval)}
      />
    );
  }
  return (
    <Dialog title={title} close={close}>
      {problem && <Failure error={problem} />}
      {server ? <Builtin approval={approval} /> : !problem && <Loading />}
    </Dialog>
  );
}

async function approve(approval: Approval) {
  await post(path("api", "approvals", approval.id), { decision: "approve" }).catch(() => {
    // Already decided by someone else; the config applies from the next call on.
  });
  stale("api/approvals", "api/overview");
}

/** The server config with approval disabled for this tool. */
export function unasked(config: Keys, tool: string): Keys {
  const tools = (config.tools ?? {}) as Record<string, Keys>;
  return { ...config, tools: { ...tools, [tool]: { ...tools[tool], approval: "never" } } };
}

function Builtin(props: { approval: Approval }) {
  const { approval } = props;
  return (
    <p>
      This tool is built in and has no config entry. To run it without approval, add it to{" "}
      <code>auto_execute</code> of <a href={to("agents", approval.agent)}>{approval.agent}</a>.
    </p>
  );
}
