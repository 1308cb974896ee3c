import type { FunctionDescription } from "../registry/plain-function.ts";

/** A function by where it is defined and what that module exports it as. */
export interface FunctionSite {
  /** The absolute path of the module that exports it. */
  readonly file: string;
  readonly exportName: string;
}

/** What the process that runs the compiler is asked. */
export interface DeriveRequest {
  /** The folder of the tools file; paths in texts are relative to it. */
  readonly folder: string;
  readonly functions: readonly FunctionSite[];
}

/** What one function came to; a reason begins with file and line. */
export type DerivedFunction =
  | { readonly description: FunctionDescription }
  | { readonly refused: string };

/** What it answers. */
export interface DeriveResponse {
  /** In the order of the request. */
  readonly functions: readonly DerivedFunction[];
  /** The files of the project that the types came from: absolute paths, sorted. */
  readonly files: readonly string[];
  /** The installed packages that types came from: the absolute folder of each, sorted. */
  readonly packages: readonly string[];
}
