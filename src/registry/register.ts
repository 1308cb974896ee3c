import { ConfigurationError } from "../errors.ts";
import { show } from "./show.ts";
import { readTraits, type ToolTraits } from "./tool-options.ts";

/** What whoever registers a tool says of it. */
export interface RegistrationOptions extends Pick<
  ToolTraits,
  "category" | "safetyLevel" | "costUsd" | "requires" | "maxCallsPerInvocation"
> {
  /** False hides the tool; true does not show one that says itself that it is hidden. */
  readonly visibleToAgents?: boolean | undefined;
}

/** A tool of any form with what was said when it was registered. Frozen. */
export interface RegisteredTool {
  readonly tool: unknown;
  readonly registration: RegistrationOptions;
}

/** What a registered tool is where neither it nor the registration says otherwise. */
export const registrationDefaults = { category: "custom", safetyLevel: "restricted" } as const;

const brand: unique symbol = Symbol.for("toolport.registered");

const known = [
  "category",
  "safetyLevel",
  "costUsd",
  "requires",
  "maxCallsPerInvocation",
  "visibleToAgents",
];

/**
 * Says more of a tool that somebody else wrote, whatever its form. What is stated here wins over
 * the tool's own; category and safety level are `custom` and `restricted` where neither says.
 *
 *     tools: [register(wikipedia, { category: "web", safetyLevel: "safe" })]
 *
 * @throws ConfigurationError for an option that does not exist or is of another type
 */
export function register(tool: unknown, options: RegistrationOptions = {}): RegisteredTool {
  if (typeof options !== "object" || options === null) {
    throw new ConfigurationError(`register was given ${show(options)}: expected an object`);
  }
  const registered = { tool, registration: readRegistration(options) };
  Object.defineProperty(registered, brand, { value: 1 });
  return Object.freeze(registered);
}

/** Recognises what {@link register} made, also that of another copy of the package. */
export function isRegisteredTool(value: unknown): value is RegisteredTool {
  return typeof value === "object" && value !== null && Object.hasOwn(value, brand);
}

/**
 * Checks what was said at a registration.
 *
 * @throws ConfigurationError for an option that does not exist or is of another type
 */
export function readRegistration(options: RegistrationOptions): RegistrationOptions {
  for (const key of Object.keys(options)) {
    if (known.includes(key)) continue;
    throw new ConfigurationError(
      `register has no option ${JSON.stringify(key)}: expected any of ${known.join(", ")}`,
    );
  }
  const { visibleToAgents, ...traits } = options;
  const stated = readTraits("register", traits);
  return Object.freeze(visibleToAgents === undefined ? stated : { ...stated, visibleToAgents });
}
