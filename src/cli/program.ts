import { Command } from "commander";

import { limitSettings } from "../config/limits.ts";
import { serveSettings } from "../config/serve-config.ts";
import { version } from "../config/version.ts";
import { guardProcess } from "../server/process-guard.ts";
import { type CallFlags, runCall } from "./call.ts";
import { runCheck } from "./check.ts";
import { addConformanceCommand } from "./conformance-command.ts";
import { Console } from "./console.ts";
import { exitCodes, failureOf } from "./failure.ts";
import { addJournalCommands } from "./journal-commands.ts";
import { type ManifestFlags, runManifest } from "./manifest.ts";
import { formOf, optionOf, type OutputFlags, outputOption, wholeNumber } from "./options.ts";
import { runSchema, type SchemaFlags } from "./schema.ts";
import { type SelectFlags, runSelect } from "./select.ts";
import { type CommandProcess, runServe } from "./serve.ts";
import { Signals } from "./signals.ts";
import { createScreenLog } from "./screen-log.ts";
import { flushStandardStreams, standardError, standardOutput } from "./standard-streams.ts";
import { type TargetFlags, withPort } from "./target.ts";
import type { OutputForm } from "./terminal.ts";

/** Runs one command, then ends the process with its exit code. */
export async function main(args: readonly string[]): Promise<void> {
  const err = standardError();
  // Up before any tool is loaded: what tools print goes to standard error, and none ends the process.
  const guard = guardProcess(createScreenLog(err, "warn"));
  const out = standardOutput(guard);
  // Whoever reads the results may stop early, as `head` does.
  process.stdout.on("error", () => guard.exit(exitCodes.ok));
  const signals = new Signals(() => guard.exit(exitCodes.failed));
  let exitCode: number = exitCodes.ok;
  const program = buildProgram({ out, err, guard, signals }, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    const failure = failureOf(error);
    if (failure.line !== "") err.write(`toolport: ${failure.line}\n`);
    exitCode = failure.exitCode;
  }
  await flushStandardStreams();
  // A tools file may have left timers or sockets behind.
  guard.exit(exitCode);
}

function buildProgram(own: CommandProcess, done: (exitCode: number) => void): Command {
  const { out, err } = own;
  const consoleFor = (flags: OutputFlags): Console => new Console(out, err, formOf(flags));
  const program = new Command("toolport")
    .description("Serves a frozen set of TypeScript tools to agent kernels in any language.")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => out.write(text),
      writeErr: (text) => err.write(text),
      outputError: (text, write) => write(`toolport: ${sentence(text)}\n`),
      getOutHelpWidth: () => out.columns || 80,
      getErrHelpWidth: () => err.columns || 80,
      getOutHasColors: () => out.hasColors?.() ?? false,
      getErrHasColors: () => err.hasColors?.() ?? false,
    })
    .addHelpText("after", () => programNotes);

  const serve = program
    .command("serve")
    .summary("serve the tools of a file until told to stop")
    .description(
      "Serves the tools of FILE. Once it listens it prints one line of JSON on standard output, with the address; whatever tools print goes to standard error. SIGTERM and SIGINT let calls in flight finish; a second one ends it at once.",
    )
    .argument("<file>", "the tools file, such as tools.ts");
  for (const setting of [...Object.values(serveSettings), ...Object.values(limitSettings)]) {
    serve.addOption(optionOf(setting));
  }
  serve
    .addHelpText("after", () => serveNotes)
    .action(async (file: string, flags: Record<string, unknown>) => {
      done(await runServe(file, flags, own));
    });

  program
    .command("check")
    .summary("check a tools file without serving it")
    .description(
      "Builds the set of tools of FILE and says what it holds, or what is wrong with it.",
    )
    .argument("<file>", "the tools file, such as tools.ts")
    .addOption(outputOption())
    .option("--json", "the same as --output json")
    .action(async (file: string, flags: OutputFlags) => {
      done(await runCheck(file, consoleFor(flags)));
    });

  program
    .command("schema")
    .summary("write what plain functions were read as beside a tools file")
    .description(
      "Reads the plain functions of FILE from their source and writes FILE.schema.json, which is then used while the source stays the same: a set starts faster, and without a compiler.",
    )
    .argument("<file>", "the tools file, such as tools.ts")
    .option("--check", "write nothing; fail where the file is missing or stale")
    .addOption(outputOption())
    .option("--json", "the same as --output json")
    .action(async (file: string, flags: SchemaFlags & OutputFlags) => {
      done(await runSchema(file, flags, consoleFor(flags)));
    });

  withTarget(program.command("manifest"))
    .summary("list the tools, or show some in full")
    .description("Lists the tools. With names, shows those with their arguments.")
    .argument("[names...]", "show these tools in full")
    .option("-a, --all", "list hidden tools too")
    .option("-q, --query <text>", "list only tools whose name or description has this text")
    .option("--text", "print the text that a kernel puts into a prompt")
    .option("--budget-tokens <tokens>", "the most tokens that this text may take", wholeNumber)
    .option("--json", "the same as --output json")
    .action(async (names: string[], flags: ManifestFlags & TargetFlags & OutputFlags) => {
      const io = consoleFor(flags);
      done(await withPort(flags, io, (client) => runManifest(client, io, names, flags)));
    });

  withTarget(program.command("call"))
    .summary("call a tool and print its result")
    .description(
      "Calls a tool. The result goes to standard output; progress, partial output and errors go to standard error. Ctrl-C cancels the call.",
    )
    .argument("<name>", "the tool's exact name")
    .argument("[arguments...]", "key=value, typed by the tool's schema; see below")
    .option(
      "--json [object]",
      "the arguments as one JSON object; @file or - reads it; without a value the same as --output json",
    )
    .option("--timeout-ms <ms>", "how long the tool may run", wholeNumber)
    .option("--deadline-ms <ms>", "how long to wait for the answer", wholeNumber)
    .option("--run-id <id>", "the run that the call belongs to")
    .option("--call-id <id>", "the call's id (default: a new one)")
    .option("--quiet", "leave out progress and partial output")
    .addHelpText("after", () => callNotes)
    .action(
      async (
        name: string,
        words: string[],
        flags: Omit<CallFlags, "json"> & TargetFlags & CallOutputFlags,
      ) => {
        const { output, json, ...rest } = flags;
        const io = consoleFor({
          ...(output === undefined ? {} : { output }),
          json: json === true,
        });
        const given = { ...rest, ...(typeof json === "string" ? { json } : {}) };
        const signal = cancelOnSignals(io, own);
        done(
          await withPort(flags, io, (client) => runCall(client, io, name, words, given, signal)),
        );
      },
    );

  withTarget(program.command("select"))
    .summary("ask which tools to offer the model, and why")
    .description("Asks which tools to offer the model this turn, which to force, and why.")
    .option("-r, --role <role>", "the role whose palette applies")
    .option("--candidates <names>", "choose among these, with commas between them")
    .option("--force <name>", "the choice that the kernel has made (its stamp)")
    .option("--resolved <names>", "the tools that an upstream step settled on")
    .option("--intent <label>", "an intent verdict: action, knowledge or ambiguous")
    .option("--matched <names>", "the tools whose keywords matched, for --intent")
    .option("-q, --query <text>", "the user's request")
    .option("--extra <object>", "a JSON object for stages of your own")
    .option("--messages <array>", "the conversation as a JSON array; @file or - reads it")
    .option("--json", "the same as --output json")
    .action(async (flags: SelectFlags & TargetFlags & OutputFlags) => {
      const io = consoleFor(flags);
      done(await withPort(flags, io, (client) => runSelect(client, io, flags)));
    });

  addJournalCommands(program, consoleFor, done);
  addConformanceCommand(program, consoleFor, done);
  return program;
}

interface CallOutputFlags {
  readonly output?: OutputForm;
  /** Arguments, or true for JSON output. */
  readonly json?: string | true;
}

function withTarget(command: Command): Command {
  return command
    .option("-t, --tools <file>", "start the tools of this file here, for this command only")
    .option("--address <address>", "ask the sidecar at this address (env: TOOLPORT_ADDRESS)")
    .option(
      "--token-file <file>",
      "the file with its token (env: TOOLPORT_TOKEN_FILE, TOOLPORT_TOKEN)",
    )
    .addOption(outputOption());
}

/** The first signal cancels the call, a second one ends the process. */
function cancelOnSignals(io: Console, { guard, signals }: CommandProcess): AbortSignal {
  const controller = new AbortController();
  signals.take(() => {
    if (controller.signal.aborted) guard.exit(exitCodes.failed);
    io.note("cancelling; once more to leave at once");
    controller.abort();
  });
  return controller.signal;
}

/** Commander's error text as one line without its prefix. */
function sentence(text: string): string {
  return text
    .replace(/^error: /u, "")
    .trim()
    .replace(/\s*\n\s*/gu, " ");
}

const programNotes = `
Start here:
  toolport check tools.ts                        is the file sound?
  toolport manifest --tools tools.ts             what does it offer?
  toolport call NAME key=value --tools tools.ts  try one
  toolport serve tools.ts                        let kernels call them
  toolport serve tools.ts --journal calls.db     and never run a call twice

Exit codes: 0 done, 1 a call failed or no sidecar answered, 2 bad configuration
or usage. NO_COLOR is honoured.`;

const serveNotes = `
The line on standard output:
  {"toolport":1,"address":"unix:…","digest":"sha256:…","pid":…}
and "tokenFile" where a file holds the token that is asked for.

TOOLPORT_TOKEN gives the token itself; it is no flag, since other users can see
flags. A unix socket is open to this user alone and asks for no token unless one
is given. Limits may also stand in the tools file; flags and variables win.

A journal in memory lets the runs that were idle longest go where it is full; whoever
asks for a call of theirs again is told RUN_EXPIRED. One in a file keeps every run for
the whole retention, and takes no new calls of runs where it is full.`;

const callNotes = `
Arguments:
  n=3  on=true         a number, a boolean, where the schema says so or nothing
  code=007             text where the schema says string
  tags=a,b             a list where the schema says array; also tags=a tags=b
  user.name=Ada        a key in an object (user\\.name for a dot in a key)
  filter:='{"a":[1]}'  any JSON
  text=@notes.txt      the content of a file (text=@@x for the text @x)

Examples:
  toolport call search text=refund --tools tools.ts
  toolport call add --json '{"a":1,"b":2}' --address unix:/tmp/port.sock
  toolport call add a=1 b=2 --tools tools.ts --json`;
