// The login form: as a page before login, and as a dialog over the page when the session expired.
import { useState } from "react";
import type { ApiError } from "./api/client";
import { Failure, Field } from "./kit/basics";
import { Dialog } from "./kit/dialog";

type Props = { problem?: ApiError; logIn: (key: string) => Promise<void> };

export function LoginPage(props: Props) {
  return (
    <main className="login">
      <KeyForm {...props} className="panel" title="Tollgate" />
    </main>
  );
}

/** A dialog, so that unsaved input on the page survives. */
export function LoginDialog(props: Props) {
  return (
    <Dialog title="Log in again" persistent>
      <p>Your session has expired. Unsaved input is kept.</p>
      <KeyForm {...props} className="login-dialog" />
    </Dialog>
  );
}

function KeyForm(props: Props & { className: string; title?: string }) {
  const [key, setKey] = useState("");
  const [busy, setBusy] = useState(false);
  return (
    <form
      className={props.className}
      onSubmit={(event) => {
        event.preventDefault();
        setBusy(true);
        void props.logIn(key.trim()).finally(() => setBusy(false));
      }}
    >
      {props.title && <h1>{props.title}</h1>}
      {props.problem && <Failure error={props.problem} />}
      <Field
        label="Key"
        help={
          <>
            An admin key (<code>tollgate keys create NAME --role admin</code>) or the contents of{" "}
            <code>admin.token</code> in the data directory. <code>tollgate serve</code> prints a
            login link.
          </>
        }
      >
        {(id) => (
          <input
            id={id}
            type="password"
            autoComplete="current-password"
            value={key}
            required
            // biome-ignore lint/a11y/noAutofocus: there is nothing else to do here
            autoFocus
            onChange={(event) => setKey(event.target.value)}
          />
        )}
      </Field>
      <button type="submit" className="primary" disabled={busy || !key.trim()}>
        Log in
      </button>
    </form>
  );
}
