import { tool } from "@langchain/core/tools";
import { z } from "zod";

import rates from "../data/rates.json" with { type: "json" };

const currency = z.enum(["EUR", "USD", "GBP", "NOK", "JPY"]);

/** A LangChain.js tool: served as it is. */
export const convertCurrency = tool(
  ({ amount, from, to }) => {
    const converted = (amount / rates[from]) * rates[to];
    return `${amount} ${from} = ${converted.toFixed(to === "JPY" ? 0 : 2)} ${to}`;
  },
  {
    name: "convert_currency",
    description: "Converts an amount of money at this season's fixed rates.",
    schema: z.object({ amount: z.number().nonnegative(), from: currency, to: currency }),
  },
);
