import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { constants, DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";

import { defineTool } from "toolport";
import { z } from "zod";

const maxRows = 50;

/**
 * Answers questions to a database that it cannot change: the file is opened read-only, and SQLite
 * itself asks about every statement. Recursive queries are refused since they might never end.
 */
export const queryBookings = defineTool({
  name: "query_bookings",
  description: `Runs one SELECT on the bookings database (SQLite) and returns its rows.

Tables: ports(code, name); crossings(id, ship, origin, destination, departs, seats, status), where
status is planned, sailed or cancelled; bookings(reference, crossing_id, passenger, seats, paid_cents).
At most ${maxRows} rows come back.`,
  parameters: z.object({
    sql: z.string().min(1).describe("One SELECT; put values in as ? and list them in values"),
    values: z
      .array(z.union([z.string(), z.number(), z.null()]))
      .default([])
      .describe("One value for each ? in the text"),
  }),
  category: "data",
  safetyLevel: "safe",
  readOnly: true,
  openWorld: false,
  idempotent: true,
  execute({ sql, values }) {
    const statement = prepare(sql);
    const rows: Record<string, unknown>[] = [];
    for (const row of statement.iterate(...(values as SQLInputValue[]))) {
      if (rows.length === maxRows) return { rows, complete: false };
      rows.push(row);
    }
    return { rows, complete: true };
  },
});

function prepare(sql: string): StatementSync {
  try {
    return database().prepare(sql);
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith("not authorized")) throw error;
    throw new Error("only a SELECT that is not recursive is allowed, with common functions", {
      cause: error,
    });
  }
}

let opened: DatabaseSync | undefined;

/** The database, made from its text on first use. */
function database(): DatabaseSync {
  if (opened) return opened;
  const folder = mkdtempSync(join(tmpdir(), "toolport-example-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "ferries.sqlite");
  const writer = new DatabaseSync(path);
  writer.exec(readFileSync(new URL("../data/ferries.sql", import.meta.url), "utf8"));
  writer.close();
  opened = new DatabaseSync(path, { readOnly: true });
  opened.setAuthorizer((action, _first, name) => {
    const isAllowed =
      action === constants.SQLITE_SELECT ||
      action === constants.SQLITE_READ ||
      (action === constants.SQLITE_FUNCTION && functions.has(name ?? ""));
    return isAllowed ? constants.SQLITE_OK : constants.SQLITE_DENY;
  });
  return opened;
}

const functions = new Set(
  [
    "abs avg coalesce count date datetime glob group_concat iif ifnull instr julianday length like",
    "lower max min nullif replace round strftime substr substring sum time total trim upper",
  ].flatMap((line) => line.split(" ")),
);
