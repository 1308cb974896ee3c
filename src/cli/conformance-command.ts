import { type Command, Option } from "commander";

import type { ConformanceFlags } from "./conformance.ts";
import type { Console } from "./console.ts";
import { type OutputFlags, outputOption } from "./options.ts";

/** Adds `toolport conformance`. */
export function addConformanceCommand(
  program: Command,
  consoleFor: (flags: OutputFlags) => Console,
  done: (exitCode: number) => void,
): void {
  program
    .command("conformance")
    .summary("try a server of the contract by its cases")
    .description(
      "Runs the contract's cases, over gRPC, Connect and gRPC-Web, against a server of the contract in any language. It must serve the tools that the cases need; without an address this very package's are tried.",
    )
    .option("--address <address>", "the server: unix:/path/to/socket or host:port")
    .option(
      "--token-file <file>",
      "the file with the token that it asks for (env: TOOLPORT_TOKEN_FILE, TOOLPORT_TOKEN)",
    )
    .option("--narrow <address>", "the same tools with one call in flight and none waiting")
    .option("--guarded <address>", "the same tools behind a bearer token")
    .option("--guarded-token-file <file>", "the file with the token of --guarded")
    .option("--empty <address>", "a server of no tools")
    .addOption(
      new Option("--protocol <protocol>", "over this protocol alone").choices([
        "grpc",
        "connect",
        "grpc-web",
      ]),
    )
    .option("--filter <text>", "only cases whose id has this text, such as retry/")
    .option("--junit <file>", "also write the results as JUnit XML")
    .addOption(outputOption())
    .option("--json", "the same as --output json")
    .addHelpText("after", () => notes)
    .action(async (flags: ConformanceFlags & OutputFlags) => {
      // The cases and their clients are loaded for this command alone.
      const { runConformance } = await import("./conformance.ts");
      done(await runConformance(flags, consoleFor(flags)));
    });
}

const notes = `
Cases that need a server which no flag names are skipped, and said to be.
Exit codes: 0 every case passed or was skipped, 1 one failed or none ran, 2 bad usage.

Examples:
  toolport conformance                                  try this package itself
  toolport conformance --address 127.0.0.1:7000 --junit report.xml
  toolport conformance --address unix:/tmp/port.sock --protocol grpc --filter run/`;
