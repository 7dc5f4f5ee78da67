// The content parts of a result. Content is untrusted: texts are shown as plain text, and images and
// audio only by type and size.
import type { Outcome } from "../../api/types";
import { Code, Json } from "../../kit/code";
import { bytes } from "../../kit/format";
import { escapeHidden, SafeLink, UntrustedText } from "../../kit/untrusted";

export function Contents(props: { outcome: Outcome }) {
  const { content, message } = props.outcome;
  if (!content) return <Code text={escapeHidden(message)} label="text" wrap />;
  return (
    <ol className="contents">
      {content.map((part, at) => (
        <li key={at}>
          <ContentPart part={part} />
        </li>
      ))}
    </ol>
  );
}

function ContentPart(props: { part: unknown }) {
  const part = (props.part ?? {}) as Record<string, unknown>;
  const text = (name: string) => (typeof part[name] === "string" ? (part[name] as string) : "");
  switch (part.type) {
    case "text":
      return <Code text={escapeHidden(text("text"))} label="text" wrap />;
    case "image":
    case "audio":
      return <BinaryContent kind={part.type} type={text("mimeType")} data={text("data")} />;
    case "resource_link":
      return (
        <p>
          <span className="badge">link</span> <SafeLink href={text("uri")} />{" "}
          <span className="quiet">
            {escapeHidden([text("name"), text("mimeType")].filter(Boolean).join(", "))}
          </span>
        </p>
      );
    case "resource":
      return <Resource part={(part.resource ?? {}) as Record<string, unknown>} />;
    default:
      return <Json value={part} label="part" />;
  }
}

function Resource(props: { part: Record<string, unknown> }) {
  const { uri, mimeType, text, blob } = props.part;
  return (
    <>
      <p>
        <span className="badge">resource</span> <SafeLink href={String(uri ?? "")} />
      </p>
      {typeof blob === "string" && (
        <BinaryContent kind="file" type={String(mimeType ?? "")} data={blob} />
      )}
      {typeof text === "string" && <Code text={escapeHidden(text)} label="resource" wrap />}
    </>
  );
}

function BinaryContent(props: { kind: string; type: string; data: string }) {
  const size = Math.floor((props.data.replace(/=+$/, "").length * 3) / 4);
  return (
    <p>
      <span className="badge">{props.kind}</span>{" "}
      <UntrustedText text={props.type || "unknown type"} clip={100} />, {bytes(size)}
    </p>
  );
}
