// The tools of a ferry company's help desk. Try them:
//
//     toolport check examples/tools.ts
//     toolport call search_handbook text=refund --tools examples/tools.ts
//     toolport serve examples/tools.ts
import { defineTools } from "toolport";

import { askHarbourMaster } from "./tools/ask-harbour-master.ts";
import { bookCrossing } from "./tools/book-crossing.ts";
import { convertCurrency } from "./tools/convert-currency.ts";
import { handbookFiles } from "./tools/handbook-files.ts";
import { notes } from "./tools/notes.ts";
import { queryBookings } from "./tools/query-bookings.ts";
import { readPage } from "./tools/read-page.ts";
import { searchHandbook } from "./tools/search-handbook.ts";
import { sidecarStatus } from "./tools/sidecar-status.ts";
import { watchCrossing } from "./tools/watch-crossing.ts";

export default defineTools({
  tools: [
    searchHandbook,
    queryBookings,
    readPage,
    convertCurrency,
    bookCrossing,
    watchCrossing,
    askHarbourMaster,
    sidecarStatus,
  ],
  capabilities: [notes, handbookFiles],
  // Which tools to offer the model in which role. Without a role it is offered all of them.
  palettes: {
    researcher: [
      "search_handbook",
      "query_bookings",
      "read_page",
      "add_note",
      "list_notes",
      "handbook_read_text_file",
    ],
    clerk: ["query_bookings", "convert_currency", "book_crossing", "watch_crossing", "add_note"],
  },
});
