import { existsSync } from "node:fs";
import { join, relative, sep } from "node:path";
import type { Node, SourceFile } from "typescript/unstable/ast";
import {
  API,
  type Checker,
  type Project,
  type Symbol,
  SymbolFlags,
} from "typescript/unstable/sync";

/** Packages that describe the language and the runtime, which an app runs without. */
const ownTypes = /\/node_modules\/(?:typescript|@typescript\/[^/]+|@types\/node|undici-types)$/u;

const configName = "toolport.derived.tsconfig.json";

/** How the sources are read, whatever the project's own configuration: as Node runs them, strictly. */
const compilerOptions = {
  target: "esnext",
  module: "nodenext",
  lib: ["esnext", "dom"],
  types: ["node"],
  strict: true,
  allowJs: true,
  allowImportingTsExtensions: true,
  resolveJsonModule: true,
  skipLibCheck: true,
  noErrorTruncation: true,
  noEmit: true,
};

/** The compiler with some files loaded. Calls block. */
export class SourceProgram {
  readonly checker: Checker;
  readonly folder: string;
  readonly #api: API;
  readonly #project: Project;

  /**
   * @param folder where modules are resolved from, and what paths in texts are relative to
   * @param files absolute paths
   */
  constructor(folder: string, files: readonly string[]) {
    this.folder = folder;
    const config = join(folder, configName);
    const text = JSON.stringify({ compilerOptions, files: files.map(typedTwin) });
    this.#api = new API({
      cwd: folder,
      fs: {
        readFile: (name) => (name === config ? text : undefined),
        fileExists: (name) => (name === config ? true : undefined),
      },
    });
    const project = this.#api.updateSnapshot({ openProjects: [config] }).getProject(config);
    if (!project) throw new Error("the compiler does not open the project");
    this.#project = project;
    this.checker = project.checker;
  }

  /** The symbol that a module exports by a name, aliases followed; undefined where there is none. */
  exported(file: string, name: string): Symbol | undefined {
    const source = this.#project.program.getSourceFile(typedTwin(file));
    const module = source && this.checker.getSymbolAtLocation(source);
    const symbol =
      module && this.checker.getExportsOfModule(module).find((one) => one.name === name);
    return symbol && this.resolved(symbol);
  }

  /** A symbol, imports and re-exports followed. */
  resolved(symbol: Symbol): Symbol {
    return symbol.flags & SymbolFlags.Alias ? this.checker.getAliasedSymbol(symbol) : symbol;
  }

  /** Whether a node is of the language's or the runtime's own declarations. */
  isBuiltIn(node: Node): boolean {
    const source = node.getSourceFile();
    return (
      this.#project.program.isSourceFileDefaultLibrary(source) ||
      /\/node_modules\/(?:@types\/node|undici-types)\//u.test(source.fileName)
    );
  }

  /** `tools.ts:12`, with the path relative to the folder. */
  place(node: Node): string {
    const source = node.getSourceFile();
    return this.placeAt(source, node.getStart());
  }

  /** The same for a position of a file. */
  placeAt(source: SourceFile, position: number): string {
    const { line } = source.getLineAndCharacterOfPosition(position);
    return `${this.shown(source.fileName)}:${line + 1}`;
  }

  /** A path as texts show it. */
  shown(file: string): string {
    return relative(this.folder, file).split(sep).join("/");
  }

  /** Where the types came from: the project's files, and the folders of packages. */
  sources(): { readonly files: readonly string[]; readonly packages: readonly string[] } {
    const files: string[] = [];
    const packages = new Set<string>();
    for (const name of this.#project.program.getSourceFileNames()) {
      const own = packageFolder(name);
      if (own === undefined) files.push(name);
      else if (!ownTypes.test(own)) packages.add(own);
    }
    return { files: files.toSorted(), packages: [...packages].toSorted() };
  }

  close(): void {
    this.#api.close();
  }
}

/** The declarations beside a built file, which have the types that it lost. */
function typedTwin(file: string): string {
  const twin = file.replace(/\.([cm]?)js$/u, ".d.$1ts");
  return twin !== file && existsSync(twin) ? twin : file;
}

/** The folder of the installed package that a file is of; undefined for a file of the project. */
function packageFolder(file: string): string | undefined {
  const at = file.lastIndexOf("/node_modules/");
  if (at < 0) return undefined;
  const name = /^(?:@[^/]+\/)?[^/]+/u.exec(file.slice(at + "/node_modules/".length))?.[0];
  return name === undefined ? undefined : join(file.slice(0, at), "node_modules", name);
}
