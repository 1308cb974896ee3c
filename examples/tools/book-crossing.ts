import { defineTool } from "toolport";
import { z } from "zod";

const port = z.enum(["Sandhaven", "Skerry", "Lowick"]);
const fareCents = 1800;
let lastNumber = 204_810;

/** Checks more than types: rules between fields are part of its schema. */
export const bookCrossing = defineTool({
  name: "book_crossing",
  description: `Books seats on a crossing and returns the booking reference.

Ask the customer before you call it: a booking costs money.`,
  parameters: z
    .object({
      passenger: z.string().min(1),
      from: port,
      to: port,
      outward: z.iso.date().describe("The day of travel, such as 2026-05-02"),
      back: z.iso.date().optional().describe("The day of the return; leave it out for one way"),
      seats: z.int().min(1).max(9).default(1),
    })
    .refine(({ from, to }) => from !== to, {
      path: ["to"],
      message: "the crossing must lead to another port",
    })
    .refine(({ outward, back }) => back === undefined || back >= outward, {
      path: ["back"],
      message: "the return must not be before the outward crossing",
    }),
  category: "custom",
  safetyLevel: "restricted",
  costUsd: 0,
  maxCallsPerInvocation: 2,
  readOnly: false,
  destructive: false,
  openWorld: false,
  execute({ passenger, from, to, outward, back, seats }) {
    lastNumber += 1;
    return {
      reference: `TW-${lastNumber}`,
      passenger,
      trips: [
        { from, to, day: outward },
        ...(back === undefined ? [] : [{ from: to, to: from, day: back }]),
      ],
      totalCents: fareCents * seats * (back === undefined ? 1 : 2),
    };
  },
});
