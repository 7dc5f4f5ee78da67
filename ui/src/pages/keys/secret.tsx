// A secret that was just made. It is in no other answer, so it is shown until somebody says they
// have it.
import type { Key } from "../../api/types";
import { Code } from "../../kit/code";
import { Dialog } from "../../kit/dialog";
import { moment } from "../../kit/words";
import { to } from "../../route";

export type MadeKey = Key & { key: string };

export function SecretDialog(props: { made: MadeKey; close: () => void }) {
  const { made } = props;
  return (
    <Dialog
      title={`The key ${made.name}`}
      firm
      actions={
        <button type="button" className="primary" onClick={props.close}>
          I have kept it
        </button>
      }
    >
      <div className="note warn">This is shown once. Keep it where the client finds it.</div>
      <Code text={made.key} label="the key" wrap />
      {made.former_until && (
        <p>The secret from before lets in as well until {moment(made.former_until)}.</p>
      )}
      <p className="help">
        Clients send it as <code>authorization: Bearer …</code> or <code>x-api-key</code>; the page{" "}
        <a href={to("connect")}>Connect</a> has it written out for most of them.
      </p>
    </Dialog>
  );
}
