/** A point of a map. */
export interface Point {
  /** Degrees north. */
  readonly lat: number;
  readonly lon: number;
  readonly label?: string;
}

/** A point with a height. */
export interface Peak extends Point {
  height: number;
}

export interface Box<T> {
  item: T;
  spare?: T;
}

export interface Tree {
  name: string;
  children?: Tree[];
}

export const Color = { Red: "red", Green: "green" } as const;
export type Color = (typeof Color)[keyof typeof Color];

export type Shape =
  | { kind: "circle"; radius: number }
  | { kind: "square"; side: number; tilt?: number };

export type Moment = { kind: "exact"; at: Date } | { kind: "said"; at: string };

export type Choice = { id: number; name?: never } | { name: string; id?: never };

export type Lists<T> = { [K in keyof T]: T[K][] };

type Team = { id: number; members: Member[] };
export type Card = Pick<Team, "id" | "members">;
type Member = { card: Card };

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

export type Nest = Nest[];
