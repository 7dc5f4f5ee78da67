// Sends a request; everything but GET has to be confirmed.
import { useEffect, useMemo, useRef, useState } from "react";
import { Panel } from "../../kit/basics";
import { Code, curl } from "../../kit/code";
import { Confirm } from "../../kit/dialog";
import { bytes, ms } from "../../kit/format";
import { type Edit, initialEdit, payloadOf, SchemaForm } from "../../schema-form/form";
import { type Document, type Operation, parametersSchema, targetOf } from "./document";
import { type ResponseState, sendRequest } from "./request";

export function TryOperation(props: { document: Document; operation: Operation }) {
  const { document, operation } = props;
  const parameters = useMemo(() => parametersSchema(operation), [operation]);
  const [parameterInput, setParameterInput] = useState<Edit>(() =>
    initialEdit(parameters, document),
  );
  const [body, setBody] = useState<Edit>(() =>
    initialEdit(operation.body?.schema ?? true, document),
  );
  const [rawBody, setRawBody] = useState("");
  const [confirming, setConfirming] = useState(false);
  const [response, setResponse] = useState<ResponseState>();
  const abort = useRef<AbortController>(undefined);
  // Streams run until they are aborted.
  useEffect(() => () => abort.current?.abort(), []);

  const isJson = operation.body !== undefined && /json$/.test(operation.body.type);
  const text = !operation.body ? undefined : isJson ? payloadOf(body).text : rawBody;
  const invalid =
    payloadOf(parameterInput).errors.size > 0 || (isJson && payloadOf(body).errors.size > 0);
  const target = targetOf(operation, invalid ? undefined : payloadOf(parameterInput).text);
  const running = response !== undefined && !response.ended;
  const ready = !invalid && target.missing.length === 0 && !running;
  const command = curl({ method: operation.method, path: target.path, text });

  const run = async () => {
    setConfirming(false);
    abort.current?.abort();
    const controller = new AbortController();
    abort.current = controller;
    const headers = { ...target.headers };
    if (operation.body && text !== undefined) headers["content-type"] = operation.body.type;
    const order = { method: operation.method, path: target.path, headers, text };
    await sendRequest(order, controller.signal, setResponse);
  };
  return (
    <Panel title="Try it">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!ready) return;
          if (operation.method === "GET") void run();
          else setConfirming(true);
        }}
      >
        {operation.parameters.length > 0 && (
          <>
            <h3>Parameters</h3>
            <SchemaForm
              schema={parameters}
              root={document}
              edit={parameterInput}
              change={setParameterInput}
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
                value={rawBody}
                onChange={(event) => setRawBody(event.target.value)}
              />
            )}
          </>
        )}
        <Code text={command} label="curl" />
        <div className="try-foot">
          <button type="submit" className="primary" disabled={!ready}>
            {running ? "Waiting…" : "Send"}
          </button>
          {running && (
            <button type="button" onClick={() => abort.current?.abort()}>
              Stop
            </button>
          )}
          {target.missing.length > 0 && (
            <span className="help">Missing: {target.missing.join(", ")}</span>
          )}
        </div>
      </form>
      {response && <SentResponse got={response} />}
      {confirming && (
        <Confirm
          title={`${operation.method} ${target.path}`}
          action="Send"
          confirm={() => void run()}
          close={() => setConfirming(false)}
        >
          <p>{operation.summary}. The request runs on this gateway.</p>
          {text !== undefined && <Code text={text} label="body" />}
        </Confirm>
      )}
    </Panel>
  );
}

function SentResponse(props: { got: ResponseState }) {
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
          {got.truncated && ", truncated"}
        </span>
        {got.etag && <code>etag {got.etag}</code>}
      </p>
      <Code text={got.text} label="response" wrap />
    </div>
  );
}
