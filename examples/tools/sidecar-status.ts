import { defineTool } from "toolport";

const startedAt = performance.now();

/** For the kernel's operator, not for the model: it can be called but is not listed. */
export const sidecarStatus = defineTool({
  name: "sidecar_status",
  description: "Tells how long the sidecar has been up and how much memory it uses.",
  visibility: "hidden",
  scope: "internal",
  readOnly: true,
  openWorld: false,
  execute() {
    return {
      node: process.version,
      upSeconds: Math.round((performance.now() - startedAt) / 1000),
      residentMiB: Math.round(process.memoryUsage.rss() / 2 ** 20),
    };
  },
});
