// Sends a request; everything but GET has to be confirmed.
import { useEffect, useMemo, useRef, useState } from "react";
import { Panel } from "../../kit/basics";
import { Code, curl } from "../../kit/code";
import { Confirm } from "../../kit/dialog";
import { bytes, ms } from "../../kit/words";
import { beginEdit, type Edit, SchemaForm, sendable } from "../../schema-form/form";
import { type Document, type Operation, parametersSchema, placeOf } from "./document";
import { type Got, request } from "./request";

export function TryOperation(props: { document: Document; operation: Operation }) {
  const { document, operation } = props;
  const parameters = useMemo(() => parametersSchema(operation), [operation]);
  const [wishes, setWishes] = useState<Edit>(() => beginEdit(parameters, document));
  const [body, setBody] = useState<Edit>(() => beginEdit(operation.body?.schema ?? true, document));
  const [plain, setPlain] = useState("");
  const [asked, setAsked] = useState(false);
  const [got, setGot] = useState<Got>();
  const abort = useRef<AbortController>(undefined);
  // Streams run until they are aborted.
  useEffect(() => () => abort.current?.abort(), []);

  const isJson = operation.body !== undefined && /json$/.test(operation.body.type);
  const text = !operation.body ? undefined : isJson ? sendable(body).text : plain;
  const wrong = sendable(wishes).said.size > 0 || (isJson && sendable(body).said.size > 0);
  const place = placeOf(operation, wrong ? undefined : sendable(wishes).text);
  const running = got !== undefined && !got.ended;
  const ready = !wrong && place.missing.length === 0 && !running;
  const shown = curl({ method: operation.method, path: place.path, text });

  const run = async () => {
    setAsked(false);
    abort.current?.abort();
    const controller = new AbortController();
    abort.current = controller;
    const headers = { ...place.headers };
    if (operation.body && text !== undefined) headers["content-type"] = operation.body.type;
    const order = { method: operation.method, path: place.path, headers, text };
    await request(order, controller.signal, setGot);
  };
  return (
    <Panel title="Try it">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!ready) return;
          if (operation.method === "GET") void run();
          else setAsked(true);
        }}
      >
        {operation.parameters.length > 0 && (
          <>
            <h3>Parameters</h3>
            <SchemaForm
              schema={parameters}
              root={document}
              edit={wishes}
              change={setWishes}
              label="Parameters"
              shows="fields"
            />
          </>
        )}
        {operation.body && (
          <>
            <h3>Body</h3>
            {isJson ? (
              <SchemaForm
                schema={operation.body.schema}
                root={document}
                edit={body}
                change={setBody}
                label="Body"
              />
            ) : (
              <textarea
                className="mono"
                rows={8}
                aria-label={`Body as ${operation.body.type}`}
                spellCheck={false}
                value={plain}
                onChange={(event) => setPlain(event.target.value)}
              />
            )}
          </>
        )}
        <Code text={shown} label="curl" />
        <div className="try-foot">
          <button type="submit" className="primary" disabled={!ready}>
            {running ? "Waiting…" : "Send"}
          </button>
          {running && (
            <button type="button" onClick={() => abort.current?.abort()}>
              Stop
            </button>
          )}
          {place.missing.length > 0 && (
            <span className="help">Missing: {place.missing.join(", ")}</span>
          )}
        </div>
      </form>
      {got && <GotView got={got} />}
      {asked && (
        <Confirm
          title={`${operation.method} ${place.path}`}
          action="Send"
          confirm={() => void run()}
          close={() => setAsked(false)}
        >
          <p>{operation.summary}. The request runs on this gateway.</p>
          {text !== undefined && <Code text={text} label="body" />}
        </Confirm>
      )}
    </Panel>
  );
}

function GotView(props: { got: Got }) {
  const { got } = props;
  if (got.problem) {
    return (
      <div className="note bad" role="alert">
        {got.problem}
      </div>
    );
  }
  if (got.status === undefined) return <p className="quiet">Waiting for a response…</p>;
  return (
    <div aria-live="polite">
      <p className="outcome-head">
        <span className={`badge ${got.status < 300 ? "good" : "bad"}`}>{got.status}</span>
        <span>{ms(got.took_ms)}</span>
        <span className="quiet">
          {got.type}, {bytes(got.size)}
          {!got.ended && ", streaming"}
          {got.cut && ", truncated"}
        </span>
        {got.etag && <code>etag {got.etag}</code>}
      </p>
      <Code text={got.text} label="response" wrap />
    </div>
  );
}
