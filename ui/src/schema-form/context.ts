// State shared by all fields of one form.
import { createContext, useContext } from "react";
import type { Schema } from "../api/types";
import type { Draft } from "./draft";
import { type Path, type Placed, placeOf } from "./places";

export interface Around {
  /** The document that references are resolved against. */
  root: Schema;
  said: Placed;
  /** Prefix of the ids of all fields. */
  id: string;
}

export const Surroundings = createContext<Around>({ root: true, said: new Map(), id: "" });

export function useAround() {
  return useContext(Surroundings);
}

/** One field of a form: its schema and its value. */
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
