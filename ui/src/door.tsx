// Where somebody says who they are: before anything is shown, and over the page when a login ended.
import { useState } from "react";
import type { Problem } from "./api/client";
import { Failure, Field } from "./kit/basics";
import { Dialog } from "./kit/dialog";

type Props = { problem?: Problem; enter: (key: string) => Promise<void> };

export function Door(props: Props) {
  return (
    <main className="door">
      <KeyForm {...props} className="panel" title="Tollgate" />
    </main>
  );
}

/** Over the page: what was typed there stays. */
export function DoorAgain(props: Props) {
  return (
    <Dialog title="Log in again" firm>
      <p>The login ended. What you typed is still here.</p>
      <KeyForm {...props} className="door-again" />
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
        void props.enter(key.trim()).finally(() => setBusy(false));
      }}
    >
      {props.title && <h1>{props.title}</h1>}
      {props.problem && <Failure error={props.problem} />}
      <Field
        label="Key"
        help={
          <>
            An admin's key (<code>tollgate keys create NAME --role admin</code>), or what stands in{" "}
            <code>admin.token</code> of the data directory; <code>tollgate serve</code> prints a
            link with it.
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
