// The content parts of a result. Content is untrusted: texts are shown as plain text, and images and
// audio only by type and size.
import type { Outcome } from "../../api/types";
import { Code, Json } from "../../kit/code";
import { Foreign, SafeLink, visible } from "../../kit/foreign";
import { bytes } from "../../kit/words";

export function Contents(props: { outcome: Outcome }) {
  const { content, message } = props.outcome;
  if (!content) return <Code text={visible(message)} label="text" wrap />;
  return (
    <ol className="contents">
      {content.map((part, at) => (
        <li key={at}>
          <Part part={part} />
        </li>
      ))}
    </ol>
  );
}

function Part(props: { part: unknown }) {
  const part = (props.part ?? {}) as Record<string, unknown>;
  const said = (name: string) => (typeof part[name] === "string" ? (part[name] as string) : "");
  switch (part.type) {
    case "text":
      return <Code text={visible(said("text"))} label="text" wrap />;
    case "image":
    case "audio":
      return <Blob kind={part.type} type={said("mimeType")} data={said("data")} />;
    case "resource_link":
      return (
        <p>
          <span className="badge">link</span> <SafeLink href={said("uri")} />{" "}
          <span className="quiet">
            {visible([said("name"), said("mimeType")].filter(Boolean).join(", "))}
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
      {typeof blob === "string" && <Blob kind="file" type={String(mimeType ?? "")} data={blob} />}
      {typeof text === "string" && <Code text={visible(text)} label="resource" wrap />}
    </>
  );
}

function Blob(props: { kind: string; type: string; data: string }) {
  const size = Math.floor((props.data.replace(/=+$/, "").length * 3) / 4);
  return (
    <p>
      <span className="badge">{props.kind}</span>{" "}
      <Foreign text={props.type || "unknown type"} clip={100} />, {bytes(size)}
    </p>
  );
}
