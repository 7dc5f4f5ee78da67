// "Always allow" is a config change; it is reviewed before it is saved.

import { useEffect, useState } from "react";
import { ApiError, get, path, post } from "../../api/client";
import { invalidate } from "../../api/queries";
import type { Approval, ServerConfig, ServerDetail } from "../../api/types";
import { Failure, Loading } from "../../kit/basics";
import { Dialog } from "../../kit/dialog";
import { ReviewChange } from "../../kit/review-change";
import { showToast } from "../../kit/toast";
import { to } from "../../route";

export function AlwaysAllow(props: { approval: Approval; close: () => void }) {
  const { approval, close } = props;
  const serverPath = path("api", "servers", approval.server);
  // Read once, without the cache: the reviewed change is saved, and only to the same version.
  const [server, setServer] = useState<ServerDetail>();
  const [problem, setProblem] = useState<ApiError>();
  const [reading, setReading] = useState(1);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each reading is a new one
  useEffect(() => {
    const controller = new AbortController();
    get<ServerDetail>(serverPath, controller.signal).then(setServer, (error) => {
      if (!controller.signal.aborted) setProblem(ApiError.from(error));
    });
    return () => controller.abort();
  }, [serverPath, reading]);
  const title = `Always allow ${approval.name}?`;
  if (server?.config) {
    return (
      <ReviewChange
        title={title}
        action="Save and approve"
        change={{
          method: "PUT",
          path: serverPath,
          body: withoutApproval(server.config, approval.tool),
        }}
        version={server.version}
        conflict={() => {
          showToast("Someone else changed the config. Review again.");
          setServer(undefined);
          setReading(reading + 1);
        }}
        close={close}
        onSaved={() => void approve(approval)}
      />
    );
  }
  return (
    <Dialog title={title} close={close}>
      {problem && <Failure error={problem} />}
      {server ? <BuiltinHint approval={approval} /> : !problem && <Loading />}
    </Dialog>
  );
}

async function approve(approval: Approval) {
  await post(path("api", "approvals", approval.id), { decision: "approve" }).catch(() => {
    // Already decided by someone else; the config applies from the next call on.
  });
  invalidate("api/approvals", "api/overview");
}

/** The server config with approval disabled for this tool. */
export function withoutApproval(config: ServerConfig, tool: string): ServerConfig {
  const tools = (config.tools ?? {}) as Record<string, ServerConfig>;
  return { ...config, tools: { ...tools, [tool]: { ...tools[tool], approval: "never" } } };
}

function BuiltinHint(props: { approval: Approval }) {
  const { approval } = props;
  return (
    <p>
      This tool is built in and has no config entry. To run it without approval, add it to{" "}
      <code>auto_execute</code> of <a href={to("agents", approval.agent)}>{approval.agent}</a>.
    </p>
  );
}
