import { type Command, Option } from "commander";

import { limitSettings } from "../config/limits.ts";
import { serveSettings } from "../config/serve-config.ts";
import { readSetting } from "../config/settings.ts";
import { ConfigurationError } from "../errors.ts";
import type { Console } from "./console.ts";
import {
  type JournalListFlags,
  runJournalList,
  runJournalPrune,
  runJournalShow,
} from "./journal.ts";
import { optionOf, type OutputFlags, outputOption, wholeNumber } from "./options.ts";

type Given = OutputFlags & Readonly<Record<string, unknown>>;

/** Adds `journal` with its commands. */
export function addJournalCommands(
  program: Command,
  consoleFor: (flags: OutputFlags) => Console,
  done: (exitCode: number) => void,
): void {
  const journal = program
    .command("journal")
    .summary("look into the journal that a sidecar keeps in a file")
    .description(
      "Looks into the journal that `toolport serve --journal FILE` keeps. A sidecar that uses it goes on meanwhile.",
    )
    .addHelpText("after", () => notes);

  withJournal(journal.command("ls"))
    .summary("list its records")
    .description("Lists the records, newest use first.")
    .option("--run <id>", "only those of this run")
    .option("--call <id>", "only those with this call id")
    .option("-n, --limit <records>", "at most so many", wholeNumber, 100)
    .action(async (flags: JournalListFlags & Given) => {
      done(await runJournalList(pathIn(flags), consoleFor(flags), flags));
    });

  withJournal(journal.command("show"))
    .summary("show one record in full")
    .description("Shows the record of one call: its state, its outcome and what came late.")
    .argument("<run>", "the run's id")
    .argument("<call>", "the call's id")
    .action(async (run: string, call: string, flags: Given) => {
      done(await runJournalShow(pathIn(flags), consoleFor(flags), run, call));
    });

  withJournal(journal.command("prune"))
    .summary("remove what retention has passed")
    .description(
      "Removes the records of runs that were not used for the whole retention. A running sidecar does so by itself; this is for a journal that none uses.",
    )
    .addOption(optionOf(limitSettings.journalRetentionMs))
    .action(async (flags: Given) => {
      const retentionMs = readSetting(limitSettings.journalRetentionMs, flags, process.env);
      done(await runJournalPrune(pathIn(flags), consoleFor(flags), retentionMs));
    });
}

function withJournal(command: Command): Command {
  return command
    .addOption(
      new Option("--journal <file>", `the journal's file (env: ${serveSettings.journal.env})`),
    )
    .addOption(outputOption())
    .option("--json", "the same as --output json");
}

/** @throws ConfigurationError where it is not said which, or what is said is no file */
function pathIn(flags: Given): string {
  const path = readSetting(serveSettings.journal, flags, process.env);
  if (path === undefined) {
    throw new ConfigurationError(
      "it is not said which journal: --journal FILE (or TOOLPORT_JOURNAL) names the file that the sidecar keeps it in",
    );
  }
  if (path !== "memory" && path !== "none") return path;
  throw new ConfigurationError(
    `a journal of ${JSON.stringify(path)} can't be looked into: --journal FILE names one in a file`,
  );
}

const notes = `
States:
  running   its tool may run; or its sidecar died, which the next one finds out
  done      its outcome is recorded, and answers whoever asks again
  lost      its tool started and the outcome is not known, so far
  released  it ended before its tool started, and may be asked again
  damaged   it does not match its checksum, and is never run again

Examples:
  toolport journal ls --journal calls.db --run 4711
  toolport journal show 4711 call-1 --journal calls.db --json`;
