/** A type that can't be a schema; `why` completes "… has the type T, …". */
export class Inexpressible extends Error {
  readonly why: string;

  constructor(why: string) {
    super(why);
    this.name = "Inexpressible";
    this.why = why;
  }
}

/** A part of a type that can't be a schema, with where it stands. */
export class InexpressiblePart extends Error {
  /** `tools.ts:12`; undefined where it has no declaration of its own. */
  readonly place: string | undefined;
  /** `filter.tags[]`. */
  readonly path: string;
  /** `has the type Map<string, number>, which …`. */
  readonly what: string;

  constructor(place: string | undefined, path: string, what: string) {
    super(`${path} ${what}`);
    this.name = "InexpressiblePart";
    this.place = place;
    this.path = path;
    this.what = what;
  }
}
