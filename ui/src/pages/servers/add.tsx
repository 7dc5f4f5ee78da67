// The wizard for a new server. Nothing is saved before the last step.
import { useMemo, useState } from "react";
import { useRead } from "../../api/queries";
import type { Imported, Server } from "../../api/types";
import { Page } from "../../kit/basics";
import { AsCommand } from "../../kit/code";
import { to } from "../../route";
import { Choose } from "./add/choose";
import { begin, type Draft, type Found } from "./add/draft";
import { Fill } from "./add/fill";
import { Done, TryAndSave } from "./add/save";
import { Source } from "./add/source";

type Step = "source" | "choose" | "fill" | "try" | "done";

const STEPS: readonly { id: string; title: string; steps: readonly Step[] }[] = [
  { id: "find", title: "Source", steps: ["source", "choose"] },
  { id: "fill", title: "Configure", steps: ["fill"] },
  { id: "try", title: "Test and save", steps: ["try"] },
  { id: "done", title: "Done", steps: ["done"] },
];

export function AddServer() {
  const servers = useRead<{ servers: Server[] }>("/api/servers").data?.servers;
  const taken = useMemo(() => servers?.map((it) => it.id) ?? [], [servers]);
  const [step, setStep] = useState<Step>("source");
  const [imported, setImported] = useState<Imported>();
  const [draft, setDraft] = useState<Draft>();
  const [added, setAdded] = useState<string[]>([]);

  const take = (found: Found) => {
    setDraft(begin(found, taken));
    setStep("fill");
  };
  const read = (answer: Imported) => {
    setImported(answer);
    const [only] = answer.servers;
    if (answer.servers.length === 1 && only) take(foundIn(answer, only));
    else setStep("choose");
  };
  const several = imported && imported.servers.length > 1;
  return (
    <Page
      title="Add server"
      lead={<a href={to("servers")}>Servers</a>}
      actions={
        <AsCommand
          cli="tollgate servers add"
          method="POST"
          path="/api/servers"
          body={draft ? { name: draft.name, ...draft.keys } : { name: "NAME", command: "…" }}
        />
      }
    >
      <Stepper step={step} />
      {step === "source" && <Source read={read} take={take} />}
      {step === "choose" && imported && (
        <Choose
          of={imported}
          added={added}
          take={(one) => take(foundIn(imported, one))}
          back={() => setStep("source")}
        />
      )}
      {step === "fill" && draft && (
        <Fill
          draft={draft}
          taken={taken}
          change={setDraft}
          dropped={several ? [] : (imported?.dropped ?? [])}
          back={() => setStep(several ? "choose" : "source")}
          next={() => setStep("try")}
        />
      )}
      {step === "try" && draft && (
        <TryAndSave
          draft={draft}
          change={setDraft}
          back={() => setStep("fill")}
          saved={() => {
            setAdded([...added, draft.name]);
            setStep("done");
          }}
        />
      )}
      {step === "done" && draft && (
        <Done
          name={draft.name}
          more={several ? imported.servers.length - added.length : 0}
          next={() => setStep(several ? "choose" : "source")}
        />
      )}
    </Page>
  );
}

function foundIn(imported: Imported, one: Imported["servers"][number]): Found {
  return { name: one.name, keys: one.server, given: imported.given, notes: one.notes };
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
