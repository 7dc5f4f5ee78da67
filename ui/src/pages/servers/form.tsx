// A form for the common settings of a server. Other settings are preserved.
import type { ReactNode } from "react";
import type { ServerConfig } from "../../api/types";
import { Field } from "../../kit/basics";
import {
  commandLine,
  convertTo,
  getAt,
  kindOf,
  setAt,
  tableEntries,
  textAt,
  withCommand,
} from "./config";
import { CheckboxField, type FormProps, ListField, NumberField, TextField } from "./fields";
import { Pairs } from "./pairs";

export function ServerForm(props: FormProps & { children?: ReactNode }) {
  const { keys, change } = props;
  const kind = kindOf(keys);
  return (
    <div className="server-form" role="group" aria-label="Server config" onBlur={props.onBlur}>
      <fieldset>
        <legend>Type</legend>
        <div className="checks">
          <label>
            <input
              type="radio"
              checked={kind === "command"}
              onChange={() => change(convertTo(keys, "command"))}
            />
            Local process
          </label>
          <label>
            <input
              type="radio"
              checked={kind === "url"}
              onChange={() => change(convertTo(keys, "url"))}
            />
            Remote server (URL)
          </label>
        </div>
      </fieldset>
      {kind === "command" ? <LocalProcess {...props} /> : <RemoteServer {...props} />}
      {props.children}
      <Advanced {...props} />
    </div>
  );
}

function LocalProcess(props: FormProps) {
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
        of={tableEntries(keys, "env")}
        change={(env) => change(setAt(keys, ["env"], env))}
      />
      <TextField
        {...props}
        path={["cwd"]}
        label="Working directory"
        help="Default: the gateway's."
        mono
      />
    </>
  );
}

function RemoteServer(props: FormProps) {
  const { keys, change } = props;
  return (
    <>
      <TextField
        {...props}
        path={["url"]}
        label="URL"
        help="MCP endpoint, http or https."
        keepEmpty
        mono
      />
      <Field label="Transport">
        {(id) => (
          <select
            id={id}
            value={textAt(keys, "transport")}
            onChange={(event) => change(setAt(keys, ["transport"], event.target.value))}
          >
            <option value="">Streamable HTTP</option>
            <option value="sse">SSE (legacy)</option>
            {textAt(keys, "transport") === "streamable-http" && (
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
        of={tableEntries(keys, "headers")}
        change={(headers) => change(setAt(keys, ["headers"], headers))}
      />
    </>
  );
}

const AUTH_METHODS: readonly { id: string; title: string; empty: ServerConfig }[] = [
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
  const auth = (getAt(keys, "auth") ?? {}) as ServerConfig;
  const method = ["oauth", "login", "token", "apiKey"].find((it) => it in auth) ?? "none";
  const choose = (id: string) => {
    const { auth: _, ...rest } = keys;
    const empty = AUTH_METHODS.find((it) => it.id === id)?.empty ?? {};
    change(id === "none" ? rest : { ...rest, auth: empty });
  };
  return (
    <>
      <Field label="Authentication">
        {(id) => (
          <select id={id} value={method} onChange={(event) => choose(event.target.value)}>
            {AUTH_METHODS.map((it) => (
              <option key={it.id} value={it.id}>
                {it.title}
              </option>
            ))}
          </select>
        )}
      </Field>
      {(method === "token" || method === "apiKey") && (
        <TextField
          {...props}
          path={["auth", method]}
          label={method === "token" ? "Token" : "API key"}
          keepEmpty
          mono
        />
      )}
      {method === "login" && (
        <p className="help">After saving, log in with the button on the server's page.</p>
      )}
      {method === "oauth" && (
        <>
          <TextField
            {...props}
            path={["auth", "oauth", "client_id"]}
            label="Client ID"
            keepEmpty
            mono
          />
          <TextField
            {...props}
            path={["auth", "oauth", "client_secret"]}
            label="Client secret"
            keepEmpty
            mono
          />
        </>
      )}
    </>
  );
}

function Advanced(props: FormProps) {
  return (
    <details>
      <summary>Advanced</summary>
      <div className="columns">
        <TextField
          {...props}
          path={["category"]}
          label="Category"
          help="Groups servers in lists and on the leaderboard."
        />
        <NumberField
          {...props}
          path={["defaults", "timeout_ms"]}
          label="Call timeout (ms)"
          help="Default: 10,000."
        />
        <NumberField
          {...props}
          path={["limits", "concurrent"]}
          label="Concurrent calls"
          help="Default: 64."
        />
        <ListField
          {...props}
          path={["allow"]}
          label="Allowed tools"
          help="Tool names of the server, or globs. Default: all."
        />
        <ListField
          {...props}
          path={["deny"]}
          label="Denied tools"
          help="Takes precedence over allowed tools."
        />
      </div>
      <div className="checks">
        <CheckboxField
          {...props}
          path={["trusted"]}
          label="Trusted: use its annotations"
          defaultValue={false}
        />
        <CheckboxField {...props} path={["enabled"]} label="Enabled" defaultValue />
        <CheckboxField
          {...props}
          path={["calibrate"]}
          label="Allow calibration probes"
          defaultValue
        />
        <CheckboxField
          {...props}
          path={["code_mode"]}
          label="Code mode: models call its tools from programs"
          defaultValue={false}
        />
      </div>
      <p className="help">Edit other settings as JSON.</p>
    </details>
  );
}
