// The usual keys of a server. What it does not show stays as it is.
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
    <div className="server-form" role="group" aria-label="Keys" onBlur={props.left}>
      <fieldset>
        <legend>Where it runs</legend>
        <div className="checks">
          <label>
            <input
              type="radio"
              checked={kind === "command"}
              onChange={() => change(ofKind(keys, "command"))}
            />
            a program on the gateway's machine
          </label>
          <label>
            <input
              type="radio"
              checked={kind === "url"}
              onChange={() => change(ofKind(keys, "url"))}
            />
            elsewhere, at an address
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
      <Field label="Command" help="Program and arguments, as in a terminal. No shell runs it.">
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
        help="The program gets these, and else only PATH, HOME, LANG and TMPDIR."
        name="Variable"
        of={pairs(keys, "env")}
        change={(env) => change(put(keys, ["env"], env))}
      />
      <Text {...props} path={["cwd"]} label="Working directory" help="Empty: the gateway's." mono />
    </>
  );
}

function Address(props: FormProps) {
  const { keys, change } = props;
  return (
    <>
      <Text
        {...props}
        path={["url"]}
        label="URL"
        help="Its MCP endpoint, http or https."
        keep
        mono
      />
      <Field label="Transport">
        {(id) => (
          <select
            id={id}
            value={text(keys, "transport")}
            onChange={(event) => change(put(keys, ["transport"], event.target.value))}
          >
            <option value="">streamable HTTP</option>
            <option value="sse">SSE, for old servers</option>
            {text(keys, "transport") === "streamable-http" && (
              <option value="streamable-http">streamable HTTP, said so</option>
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
  { id: "none", title: "no proof, or by a header", empty: {} },
  { id: "token", title: "a token (authorization: Bearer …)", empty: { token: "" } },
  { id: "apiKey", title: "an API key (x-api-key)", empty: { apiKey: "" } },
  { id: "login", title: "a person logs in (OAuth)", empty: { login: true } },
  {
    id: "oauth",
    title: "client credentials (OAuth)",
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
      <Field label="How the gateway proves who it is">
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
        <p className="help">
          Once it is saved, its page has a button that opens the server's login.
        </p>
      )}
      {way === "oauth" && (
        <>
          <Text {...props} path={["auth", "oauth", "client_id"]} label="Client id" keep mono />
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
      <summary>More</summary>
      <div className="columns">
        <Text
          {...props}
          path={["category"]}
          label="Category"
          help="Groups it with others in lists and on the leaderboard."
        />
        <Whole
          {...props}
          path={["defaults", "timeout_ms"]}
          label="Time for a call, ms"
          help="Empty: 10,000."
        />
        <Whole
          {...props}
          path={["limits", "concurrent"]}
          label="Calls at a time"
          help="Empty: 64."
        />
        <List
          {...props}
          path={["allow"]}
          label="Tools offered"
          help="Names as the server says them, and globs. Empty: all."
        />
        <List {...props} path={["deny"]} label="Tools never offered" help="Wins over the above." />
      </div>
      <div className="checks">
        <Flag
          {...props}
          path={["trusted"]}
          label="trusted: its annotations count"
          usually={false}
        />
        <Flag {...props} path={["enabled"]} label="enabled" usually />
        <Flag {...props} path={["calibrate"]} label="may be measured by probes" usually />
        <Flag
          {...props}
          path={["code_mode"]}
          label="called in programs (code mode)"
          usually={false}
        />
      </div>
      <p className="help">All other keys: under “JSON”.</p>
    </details>
  );
}
