// The wizard for a new server. Nothing is saved before the last step.
import { useMemo, useState } from "react";
import { useRead } from "../../api/queries";
import type { ImportResult, Server } from "../../api/types";
import { Page } from "../../kit/basics";
import { ShowAsCli } from "../../kit/code";
import { to } from "../../route";
import { ChooseServer } from "./add/choose";
import { ConfigureServer } from "./add/configure";
import { type Candidate, createDraft, type ServerDraft } from "./add/draft";
import { Done, TestAndSave } from "./add/save";
import { ServerSource } from "./add/source";

type Step = "source" | "choose" | "fill" | "try" | "done";

const STEPS: readonly { id: string; title: string; steps: readonly Step[] }[] = [
  { id: "find", title: "Source", steps: ["source", "choose"] },
  { id: "fill", title: "Configure", steps: ["fill"] },
  { id: "try", title: "Test and save", steps: ["try"] },
  { id: "done", title: "Done", steps: ["done"] },
];

export function AddServer() {
  const servers = useRead<{ servers: Server[] }>("/api/servers").data?.servers;
  const takenNames = useMemo(() => servers?.map((it) => it.id) ?? [], [servers]);
  const [step, setStep] = useState<Step>("source");
  const [imported, setImported] = useState<ImportResult>();
  const [draft, setDraft] = useState<ServerDraft>();
  const [addedNames, setAddedNames] = useState<string[]>([]);

  const configure = (found: Candidate) => {
    setDraft(createDraft(found, takenNames));
    setStep("fill");
  };
  const read = (answer: ImportResult) => {
    setImported(answer);
    const [only] = answer.servers;
    if (answer.servers.length === 1 && only) configure(candidateOf(answer, only));
    else setStep("choose");
  };
  const several = imported && imported.servers.length > 1;
  return (
    <Page
      title="Add server"
      lead={<a href={to("servers")}>Servers</a>}
      actions={
        <ShowAsCli
          cli="tollgate servers add"
          method="POST"
          path="/api/servers"
          body={draft ? { name: draft.name, ...draft.keys } : { name: "NAME", command: "…" }}
        />
      }
    >
      <Stepper step={step} />
      {step === "source" && <ServerSource read={read} configure={configure} />}
      {step === "choose" && imported && (
        <ChooseServer
          of={imported}
          added={addedNames}
          configure={(one) => configure(candidateOf(imported, one))}
          back={() => setStep("source")}
        />
      )}
      {step === "fill" && draft && (
        <ConfigureServer
          draft={draft}
          takenNames={takenNames}
          change={setDraft}
          dropped={several ? [] : (imported?.dropped ?? [])}
          back={() => setStep(several ? "choose" : "source")}
          next={() => setStep("try")}
        />
      )}
      {step === "try" && draft && (
        <TestAndSave
          draft={draft}
          change={setDraft}
          back={() => setStep("fill")}
          saved={() => {
            setAddedNames([...addedNames, draft.name]);
            setStep("done");
          }}
        />
      )}
      {step === "done" && draft && (
        <Done
          name={draft.name}
          more={several ? imported.servers.length - addedNames.length : 0}
          next={() => setStep(several ? "choose" : "source")}
        />
      )}
    </Page>
  );
}

function candidateOf(imported: ImportResult, one: ImportResult["servers"][number]): Candidate {
  return { name: one.name, keys: one.server, originalValues: imported.given, notes: one.notes };
}

function Stepper(props: { step: Step }) {
  const at = STEPS.findIndex((it) => it.steps.includes(props.step));
  return (
    <ol className="stepper" aria-label="Steps">
      {STEPS.map((it, of) => (
        <li
          key={it.id}
          className={of < at ? "past" : ""}
          aria-current={of === at ? "step" : undefined}
        >
          <span aria-hidden="true">{of < at ? "✓" : of + 1}</span> {it.title}
        </li>
      ))}
    </ol>
  );
}
