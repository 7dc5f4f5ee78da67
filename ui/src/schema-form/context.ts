// State shared by all fields of one form.
import { createContext, useContext } from "react";
import type { Schema } from "../api/types";
import type { Draft } from "./draft";
import { type ErrorsByPath, formatPath, type Path } from "./paths";

export interface FormState {
  /** The document that references are resolved against. */
  root: Schema;
  errors: ErrorsByPath;
  /** Prefix of the ids of all fields. */
  id: string;
}

export const FormContext = createContext<FormState>({ root: true, errors: new Map(), id: "" });

export function useFormContext() {
  return useContext(FormContext);
}

/** One field of a form: its schema and its value. */
export interface FieldProps {
  schema: Schema;
  draft: Draft | undefined;
  change: (draft: Draft | undefined) => void;
  path: Path;
  label: string;
  required: boolean;
}

export function useFieldError(path: Path): { id: string; error: string | undefined } {
  const { id, errors } = useFormContext();
  const key = formatPath(path);
  return { id: `${id}/${key}`, error: errors.get(key) };
}
