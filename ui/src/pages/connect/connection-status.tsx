// Whether the client has connected: by the use of its key, or by a call since the page was opened.
import { useState } from "react";
import { query } from "../../api/client";
import { useRead } from "../../api/queries";
import type { Call, Key } from "../../api/types";
import { Ago } from "../../kit/basics";
import { to } from "../../route";

const POLL_INTERVAL_MS = 2000;

export function ConnectionStatus(props: { name: string | undefined; client: string }) {
  return props.name ? (
    <ByKey name={props.name} client={props.client} />
  ) : (
    <ByCall client={props.client} />
  );
}

function ByKey(props: { name: string; client: string }) {
  const keys = useRead<{ keys: Key[] }>("/api/keys", POLL_INTERVAL_MS).data?.keys;
  const used = keys?.find((it) => it.name === props.name)?.last_used ?? undefined;
  const calls = query({ principal: `key:${props.name}` });
  return <StatusNote client={props.client} at={used} calls={calls} />;
}

function ByCall(props: { client: string }) {
  const [since] = useState(() => Date.now() - 1000);
  const calls = useRead<{ running: Call[]; calls: Call[] }>(
    "/api/calls?probes=false&limit=1",
    POLL_INTERVAL_MS,
  ).data;
  const last = calls?.calls[0] ?? calls?.running[0];
  const at = last && Date.parse(last.at) >= since ? last.at : undefined;
  return <StatusNote client={props.client} at={at} calls="" />;
}

function StatusNote(props: { client: string; at: string | undefined; calls: string }) {
  if (!props.at) {
    return (
      <p className="connection-status" role="status">
        <span className="spinner" aria-hidden="true" />
        Waiting for the first request from {props.client}… Start it or reload its config.
      </p>
    );
  }
  return (
    <div className="note good" role="status">
      <span>
        ✓ Connected: last request from {props.client} <Ago time={props.at} />.
      </span>
      <a href={to("calls") + props.calls}>View calls</a>
    </div>
  );
}
