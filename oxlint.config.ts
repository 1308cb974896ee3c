import { defineConfig, type OxlintOverride } from "oxlint";

/** Everything that a folder of src/ may be forbidden to import from. */
const folders = [
  "registry",
  "functions",
  "selection",
  "execution",
  "isolation",
  "spill",
  "mounts",
  "journal",
  "wire",
  "telemetry",
  "config",
  "client",
  "server",
  "mcp",
  "inspector",
  "cli",
];

const inner = ["registry", "selection", "execution", "journal", "telemetry"];

/** The arrows of ARCHITECTURE.md: what each folder knows beside domain, errors and internal. */
const arrows: readonly Arrows[] = [
  { folder: "domain", knows: [] },
  { folder: "internal", knows: [] },
  { folder: "registry", knows: [] },
  { folder: "functions", knows: ["registry", "define-tools.ts"], edge: true },
  { folder: "selection", knows: [] },
  { folder: "execution", knows: ["journal"] },
  { folder: "isolation", knows: ["registry", "execution", "config", "mounts"], edge: true },
  { folder: "mounts", knows: ["registry", "execution", "config"], edge: true, speaksMcp: true },
  { folder: "spill", knows: ["execution", "journal"], edge: true },
  { folder: "journal", knows: [], edge: true },
  { folder: "telemetry", knows: [] },
  { folder: "wire", knows: ["gen"], wires: true },
  { folder: "config", knows: ["functions", "define-tools.ts"], edge: true },
  { folder: "client", knows: ["wire"], edge: true, wires: true },
  { folder: "server", knows: [...inner, "wire"], edge: true, wires: true },
  { folder: "mcp", knows: inner, edge: true, wires: true, speaksMcp: true },
  { folder: "inspector", knows: [...inner, "wire"], edge: true, wires: true },
  {
    folder: "cli",
    knows: [...folders, "index.ts", "port.ts", "define-tools.ts", "serve-port.ts"],
    edge: true,
    wires: true,
  },
];

interface Arrows {
  readonly folder: string;
  readonly knows: readonly string[];
  /** It may touch files, processes and the network. */
  readonly edge?: boolean;
  /** It may use the libraries of the wire. */
  readonly wires?: boolean;
  /** It may use the library of the Model Context Protocol. */
  readonly speaksMcp?: boolean;
}

function override({
  folder,
  knows,
  edge = false,
  wires = false,
  speaksMcp = false,
}: Arrows): OxlintOverride {
  const others = [...folders, "gen", "index.ts", "port.ts", "define-tools.ts", "serve-port.ts"]
    .filter((each) => each !== folder && !knows.includes(each))
    .map((each) => (each.endsWith(".ts") ? `${each.replace(".", "\\.")}$` : `${each}/`));
  const builtins = "fs|net|http|http2|https|tls|dgram|dns|child_process|cluster|sqlite";
  const patterns = [
    {
      regex: `^(\\.\\./)+(${others.join("|")})`,
      message: `src/${folder} may not know it: see the arrows in ARCHITECTURE.md.`,
    },
  ];
  if (!edge) {
    patterns.push({
      regex: `^node:(${builtins})(/|$)`,
      message: "Files, processes and the network belong to the edge.",
    });
  }
  if (!wires) {
    patterns.push({
      regex: "^@(bufbuild|connectrpc|grpc)/",
      message: "The libraries of the wire belong to wire, server and client.",
    });
  }
  if (!speaksMcp) {
    patterns.push({
      regex: "^@modelcontextprotocol/",
      message: "The libraries of the Model Context Protocol belong to mounts and mcp.",
    });
  }
  return {
    files: [`src/${folder}/**`],
    rules: {
      "no-restricted-imports": [
        "error",
        { patterns: folder === "execution" ? [...patterns, storeIsDecidedAtTheEdge] : patterns },
      ],
    },
  };
}

const storeIsDecidedAtTheEdge = {
  group: ["**/journal/**", "!**/journal/journal.ts"],
  message: "Execution knows the Journal interface alone; which store it is gets decided outside.",
};

export default defineConfig({
  plugins: ["typescript", "import", "promise", "node", "unicorn"],
  categories: { correctness: "error", suspicious: "error" },
  options: { typeAware: true },
  rules: {
    "import/no-default-export": "error",
    "import/no-cycle": "error",
    "import/no-named-as-default-member": "off",
    "import/no-unassigned-import": "off",
    "no-underscore-dangle": "off",
    "promise/no-callback-in-promise": "off",
    // It takes a promise's executor that returns early for one that resolves twice.
    "promise/no-multiple-resolved": "off",
    // A copy made before a loop is how a set is left alone while its members leave it.
    "unicorn/no-useless-spread": "off",
    "typescript/no-explicit-any": "error",
    // Objects here are often bundles of functions that know no `this`.
    "typescript/unbound-method": "off",
    // The compiler's noImplicitReturns knows exhaustive switches.
    "typescript/consistent-return": "off",
    // Values from outside TypeScript are not always what they say.
    "typescript/no-unnecessary-type-conversion": "off",
    "typescript/no-unsafe-type-assertion": "off",
    "typescript/switch-exhaustiveness-check": [
      "error",
      { considerDefaultExhaustiveForUnions: true },
    ],
  },
  ignorePatterns: [
    "gen/**",
    "dist/**",
    "dist.*/**",
    "clients/**",
    ".build/**",
    ".venv/**",
    "node_modules/**",
  ],
  overrides: [
    {
      files: ["*.config.js", "*.config.ts", "examples/**", "test/**/tools/**"],
      rules: { "import/no-default-export": "off" },
    },
    {
      // A test builds its world inline.
      files: ["test/**"],
      rules: { "unicorn/consistent-function-scoping": "off" },
    },
    {
      // What the Model Context Protocol's SDK calls a transport has handlers instead of events.
      files: ["src/mounts/**"],
      rules: { "unicorn/prefer-add-event-listener": "off" },
    },
    ...arrows.map(override),
    {
      files: ["src/*.ts"],
      rules: {
        "no-restricted-imports": [
          "error",
          { patterns: [{ regex: "/gen/", message: "Only the wire imports generated code." }] },
        ],
      },
    },
  ],
});
