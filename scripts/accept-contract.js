// Makes the contract as it stands the one that later changes must not break.
import { cpSync } from "node:fs";
import { join } from "node:path";
import { generate } from "./generate.js";
import { main, root } from "./lib/run.js";

await main(() => {
  generate(root);
  cpSync(join(root, "gen", "toolport.v1.binpb"), join(root, "etc", "toolport.v1.binpb"));
});
