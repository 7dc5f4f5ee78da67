// Windows over the page, by the browser's own <dialog>: it keeps the focus and closes by Escape.
import { type ReactNode, useId, useLayoutEffect, useRef } from "react";

type Props = {
  title: ReactNode;
  children: ReactNode;
  /** `side`: along the right edge, for what belongs to a row. */
  place?: "middle" | "side";
  actions?: ReactNode;
} & ({ firm?: false; close: () => void } | { /** Only what stands in it closes it. */ firm: true });

export function Dialog(props: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Closed before it is taken out of the page: only then the focus goes back to where it came from.
  useLayoutEffect(() => {
    const shown = dialog.current;
    if (shown && !shown.open) shown.showModal();
    return () => shown?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      className={props.place === "side" ? "side" : "middle"}
      aria-labelledby={id}
      closedby={props.firm ? "none" : undefined}
      onCancel={(event) => {
        event.preventDefault();
        if (!props.firm) props.close();
      }}
      onClose={({ currentTarget }) => {
        // Browsers that do not know `closedby` close it by a second Escape, whatever we say.
        if (props.firm && currentTarget.isConnected && !currentTarget.open) {
          currentTarget.showModal();
        }
      }}
    >
      <header className="dialog-head">
        <h2 id={id}>{props.title}</h2>
        {!props.firm && (
          <button type="button" className="plain" aria-label="Close" onClick={props.close}>
            ✕
          </button>
        )}
      </header>
      <div className="dialog-body">{props.children}</div>
      {props.actions && <footer className="dialog-foot">{props.actions}</footer>}
    </dialog>
  );
}

/** Asks before something that cannot be taken back. */
export function Confirm(props: {
  title: string;
  action: string;
  children: ReactNode;
  confirm: () => void;
  close: () => void;
  /** It is being done. */
  busy?: boolean;
}) {
  return (
    <Dialog
      title={props.title}
      close={props.close}
      actions={
        <>
          <button type="button" onClick={props.close}>
            Cancel
          </button>
          <button type="button" className="danger" disabled={props.busy} onClick={props.confirm}>
            {props.action}
          </button>
        </>
      }
    >
      {props.children}
    </Dialog>
  );
}
