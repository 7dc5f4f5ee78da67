// A form for the common settings of a server. Other settings are preserved.
import type { ReactNode } from "react";
import type { Keys } from "../../api/types";
import { Field } from "../../kit/basics";
import { Flag, type FormProps, List, Text, Whole } from "./fields";
import { at, commandLine, kindOf, ofKind, pairs, put, text, withCommand } from "./keys";
import { Pairs } from "./pairs";

export function ServerForm(props: FormProps & { children?: ReactNode }) {
  const { keys, change } = props;
  const kind = kindOf(keys);
  return (
    <div className="server-form" role="group" aria-label="Server config" onBlur={props.left}>
      <fieldset>
        <legend>Type</legend>
        <div className="checks">
          <label>
            <input
              type="radio"
              checked={kind === "command"}
              onChange={() => change(ofKind(keys, "command"))}
            />
            Local process
          </label>
          <label>
            <input
              type="radio"
              checked={kind === "url"}
              onChange={() => change(ofKind(keys, "url"))}
            />
            Remote server (URL)
          </label>
        </div>
      </fieldset>
      {kind === "command" ? <Command {...props} /> : <Address {...props} />}
      {props.children}
      <More {...props} />
    </div>
  );
}

function Command(props: FormProps) {
  const { keys, change } = props;
  return (
    <>
      <Field label="Command" help="Program and arguments. Not run through a shell.">
        {(id) => (
          <input
            id={id}
            className="mono"
            spellCheck={false}
            autoComplete="off"
            placeholder="npx -y @modelcontextprotocol/server-everything@2026.8.31"
            value={commandLine(keys)}
            onChange={(event) => change(withCommand(keys, event.target.value))}
          />
        )}
      </Field>
      <Pairs
        label="Environment"
        help="Passed in addition to PATH, HOME, LANG and TMPDIR. No other variables are inherited."
        name="Variable"
        of={pairs(keys, "env")}
        change={(env) => change(put(keys, ["env"], env))}
      />
      <Text
        {...props}
        path={["cwd"]}
        label="Working directory"
        help="Default: the gateway's."
        mono
      />
    </>
  );
}

function Address(props: FormProps) {
  const { keys, change } = props;
  return (
    <>
      <Text {...props} path={["url"]} label="URL" help="MCP endpoint, http or https." keep mono />
      <Field label="Transport">
        {(id) => (
          <select
            id={id}
            value={text(keys, "transport")}
            onChange={(event) => change(put(keys, ["transport"], event.target.value))}
          >
            <option value="">Streamable HTTP</option>
            <option value="sse">SSE (legacy)</option>
            {text(keys, "transport") === "streamable-http" && (
              <option value="streamable-http">Streamable HTTP (explicit)</option>
            )}
          </select>
        )}
      </Field>
      <Auth {...props} />
      <Pairs
        label="Headers"
        help="Sent with every request."
        name="Header"
        of={pairs(keys, "headers")}
        change={(headers) => change(put(keys, ["headers"], headers))}
      />
    </>
  );
}

const WAYS: readonly { id: string; title: string; empty: Keys }[] = [
  { id: "none", title: "None, or a custom header", empty: {} },
  { id: "token", title: "Bearer token", empty: { token: "" } },
  { id: "apiKey", title: "API key (x-api-key)", empty: { apiKey: "" } },
  { id: "login", title: "User login (OAuth)", empty: { login: true } },
  {
    id: "oauth",
    title: "Client credentials (OAuth)",
    empty: { oauth: { client_id: "", client_secret: "" } },
  },
];

function Auth(props: FormProps) {
  const { keys, change } = props;
  const auth = (at(keys, "auth") ?? {}) as Keys;
  const way = ["oauth", "login", "token", "apiKey"].find((it) => it in auth) ?? "none";
  const choose = (id: string) => {
    const { auth: _, ...rest } = keys;
    const empty = WAYS.find((it) => it.id === id)?.empty ?? {};
    change(id === "none" ? rest : { ...rest, auth: empty });
  };
  return (
    <>
      <Field label="Authentication">
        {(id) => (
          <select id={id} value={way} onChange={(event) => choose(event.target.value)}>
            {WAYS.map((it) => (
              <option key={it.id} value={it.id}>
                {it.title}
              </option>
            ))}
          </select>
        )}
      </Field>
      {(way === "token" || way === "apiKey") && (
        <Text
          {...props}
          path={["auth", way]}
          label={way === "token" ? "Token" : "API key"}
          keep
          mono
        />
      )}
      {way === "login" && (
        <p className="help">After saving, log in with the button on the server's page.</p>
      )}
      {way === "oauth" && (
        <>
          <Text {...props} path={["auth", "oauth", "client_id"]} label="Client ID" keep mono />
          <Text
            {...props}
            path={["auth", "oauth", "client_secret"]}
            label="Client secret"
            keep
            mono
          />
        </>
      )}
    </>
  );
}

function More(props: FormProps) {
  return (
    <details>
      <summary>Advanced</summary>
      <div className="columns">
        <Text
          {...props}
          path={["category"]}
          label="Category"
          help="Groups servers in lists and on the leaderboard."
        />
        <Whole
          {...props}
          path={["defaults", "timeout_ms"]}
          label="Call timeout (ms)"
          help="Default: 10,000."
        />
        <Whole
          {...props}
          path={["limits", "concurrent"]}
          label="Concurrent calls"
          help="Default: 64."
        />
        <List
          {...props}
          path={["allow"]}
          label="Allowed tools"
          help="Tool names of the server, or globs. Default: all."
        />
        <List
          {...props}
          path={["deny"]}
          label="Denied tools"
          help="Takes precedence over allowed tools."
        />
      </div>
      <div className="checks">
        <Flag {...props} path={["trusted"]} label="Trusted: use its annotations" usually={false} />
        <Flag {...props} path={["enabled"]} label="Enabled" usually />
        <Flag {...props} path={["calibrate"]} label="Allow calibration probes" usually />
        <Flag
          {...props}
          path={["code_mode"]}
          label="Code mode: models call its tools from programs"
          usually={false}
        />
      </div>
      <p className="help">Edit other settings as JSON.</p>
    </details>
  );
}
