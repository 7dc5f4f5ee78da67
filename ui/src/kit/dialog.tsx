// Windows over the page, by the browser's own <dialog>: it keeps the focus and closes by Escape.
import { type ReactNode, useId, useLayoutEffect, useRef } from "react";

export function Dialog(props: {
  title: ReactNode;
  close: () => void;
  children: ReactNode;
  /** `side`: along the right edge, for what belongs to a row. */
  place?: "middle" | "side";
  actions?: ReactNode;
}) {
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
      onCancel={(event) => {
        event.preventDefault();
        props.close();
      }}
    >
      <header className="dialog-head">
        <h2 id={id}>{props.title}</h2>
        <button type="button" className="plain" aria-label="Close" onClick={props.close}>
          ✕
        </button>
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
