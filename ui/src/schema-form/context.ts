// What every part of one form knows.
import { createContext, useContext } from "react";
import type { Schema } from "../api/types";
import type { Draft } from "./draft";
import { type Path, type Placed, placeOf } from "./places";

export interface Around {
  /** The document that references are about. */
  root: Schema;
  said: Placed;
  /** Of the whole form; ids of its fields begin with it. */
  id: string;
}

export const Surroundings = createContext<Around>({ root: true, said: new Map(), id: "" });

export function useAround() {
  return useContext(Surroundings);
}

/** One place of a form: what may stand there, and what does. */
export interface Place {
  schema: Schema;
  draft: Draft | undefined;
  change: (draft: Draft | undefined) => void;
  path: Path;
  label: string;
  required: boolean;
}

export function useSaid(path: Path): { id: string; error: string | undefined } {
  const { id, said } = useAround();
  const place = placeOf(path);
  return { id: `${id}/${place}`, error: said.get(place) };
}
