// The public surface of the package, held against the reports in etc/.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  Extractor,
  ExtractorConfig,
  ExtractorLogLevel,
  ExtractorMessageCategory,
} from "@microsoft/api-extractor";
import { main, root } from "../lib/run.js";

const entries = { toolport: "index", "toolport.client": "client/index" };

export const api = { "public surface": () => compareReports({ accept: false }) };

/** Compares every report with what dist/ declares, or writes it anew. */
function compareReports({ accept }) {
  const wrong = Object.entries(entries).flatMap(([name, entry]) => compare(name, entry, accept));
  if (wrong.length > 0) throw new Error(wrong.join("\n"));
}

function compare(name, entry, accept) {
  const report = `etc/${name}.api.md`;
  const { Error: Failure, Warning } = ExtractorLogLevel;
  const said = [];
  const config = ExtractorConfig.prepare({
    configObject: configOf(name, entry),
    configObjectFullPath: undefined,
    packageJsonFullPath: join(root, "package.json"),
  });
  const { apiReportChanged } = Extractor.invoke(config, {
    localBuild: accept,
    messageCallback(message) {
      const isOfTheReport = message.category === ExtractorMessageCategory.Console;
      if ([Failure, Warning].includes(message.logLevel) && !isOfTheReport) said.push(message.text);
      message.handled = true;
    },
  });
  if (apiReportChanged && !accept) {
    said.push(
      `not the surface that ${report} says; if the change is meant, run npm run api:accept`,
    );
  }
  return said;
}

function configOf(name, entry) {
  const inReport = { logLevel: "none", addToApiReportFile: true };
  return {
    projectFolder: root,
    newlineKind: "lf",
    mainEntryPointFilePath: `<projectFolder>/dist/src/${entry}.d.ts`,
    compiler: { tsconfigFilePath: "<projectFolder>/tsconfig.build.json" },
    apiReport: {
      enabled: true,
      reportFolder: "<projectFolder>/etc/",
      reportTempFolder: "<projectFolder>/.build/api/",
      reportFileName: `${name}.api.md`,
    },
    docModel: { enabled: false },
    dtsRollup: { enabled: false },
    tsdocMetadata: { enabled: false },
    messages: {
      compilerMessageReporting: { default: { logLevel: "error" } },
      extractorMessageReporting: {
        default: { logLevel: "error" },
        "ae-missing-release-tag": { logLevel: "none" },
        "ae-forgotten-export": inReport,
        "ae-undocumented": inReport,
      },
      // Comments are written for people and editors, not for a generator of pages.
      tsdocMessageReporting: { default: { logLevel: "none" } },
    },
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await main(() => compareReports({ accept: true }));
}
