// One operation: description, form, body and responses.
import { Panel } from "../../kit/basics";
import { UntrustedText } from "../../kit/untrusted";
import { SchemaView } from "../../schema-form/view";
import type { ApiResponse, Content, Document, Operation } from "./document";
import { TryOperation } from "./try";

export function OperationView(props: { document: Document; operation: Operation }) {
  const { document, operation } = props;
  return (
    <>
      <Panel
        title={
          <>
            <span className={`method ${operation.method.toLowerCase()}`}>{operation.method}</span>{" "}
            <code className="api-path">{operation.path}</code>
          </>
        }
        actions={<code className="quiet">{operation.id}</code>}
      >
        <p>{operation.summary}</p>
        {operation.description && (
          <p className="quiet">
            <UntrustedText text={operation.description} clip={1500} />
          </p>
        )}
      </Panel>
      <TryOperation document={document} operation={operation} />
      {operation.body && (
        <Panel title={`Body (${operation.body.type})`}>
          <SchemaView schema={operation.body.schema} root={document} label="schema of the body" />
        </Panel>
      )}
      <Panel title="Responses">
        {operation.responses.map((it) => (
          <ResponseView key={it.status} document={document} answer={it} />
        ))}
      </Panel>
    </>
  );
}

function ResponseView(props: { document: Document; answer: ApiResponse }) {
  const { document, answer } = props;
  const tone = answer.status.startsWith("2") ? "good" : "warn";
  return (
    <details className="api-answer">
      <summary>
        <span className={`badge ${tone}`}>{answer.status}</span> {answer.description}{" "}
        <span className="quiet">{answer.contents.map((it) => it.type).join(", ")}</span>
      </summary>
      {answer.contents.length === 0 && <p className="quiet">No body.</p>}
      {answer.contents.map((it) => (
        <ContentView
          key={it.type}
          document={document}
          content={it}
          label={`schema of ${answer.status}, ${it.type}`}
        />
      ))}
    </details>
  );
}

function ContentView(props: { document: Document; content: Content; label: string }) {
  const { document, content, label } = props;
  if (content.events.length === 0) {
    return (
      <>
        <h3>{content.type}</h3>
        <SchemaView schema={content.schema} root={document} label={label} />
      </>
    );
  }
  return content.events.map(([name, schema]) => (
    <div key={name}>
      <h3>
        Event <code>{name}</code>
      </h3>
      <SchemaView schema={schema} root={document} label={`${label}, ${name}`} />
    </div>
  ));
}
