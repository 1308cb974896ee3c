import { defineTools, type ToolsDefinition } from "../../../src/define-tools.ts";
import type { ToolContext } from "../../../src/domain/tool.ts";
import type * as shapes from "./shapes.ts";

/** Takes a text. */
export function text(value: string): void {
  void value;
}
/** Takes a number. */
export function amount(value: number): void {
  void value;
}
/** Takes a boolean. */
export function flag(value: boolean): void {
  void value;
}
/** Takes a big integer. */
export function big(value: bigint): void {
  void value;
}
/** Takes one literal. */
export function literal(value: "a"): void {
  void value;
}
/** Takes literals of several types. */
export function literals(value: "a" | 1 | true | null): void {
  void value;
}
/** Takes literal numbers. */
export function numbers(value: 1 | 2 | -3.5): void {
  void value;
}
/** Takes literal big integers. */
export function bigLiterals(value: 1n | 20n): void {
  void value;
}
/** Takes a text or null. */
export function nullable(value: string | null): void {
  void value;
}
/** Takes a number, or nothing. */
export function optional(value?: number): void {
  void value;
}
/** Takes two with defaults. */
export function defaulted(value = 3, name = "x"): void {
  void [value, name];
}
/** Takes a list. */
export function list(values: string[]): void {
  void values;
}
/** Takes a list that it does not change. */
export function readonlyList(values: readonly number[]): void {
  void values;
}
/** Takes lists of lists. */
export function nested(values: (string | number)[][]): void {
  void values;
}
/** Takes a pair. */
export function pair(value: [string, number]): void {
  void value;
}
/** Takes a tuple with an open end. */
export function openTuple(value: [a: string, b?: number, ...rest: boolean[]]): void {
  void value;
}
/** Takes a tuple that it does not change. */
export function readonlyTuple(value: readonly [1, "x"?]): void {
  void value;
}
/** Takes a record. */
export function record(value: Record<string, number>): void {
  void value;
}
/** Takes a record with known keys. */
export function keyedRecord(value: Record<"a" | "b", boolean>): void {
  void value;
}
/** Takes numbers for keys. */
export function numberKeys(value: { [index: number]: string }): void {
  void value;
}
/** Takes a known key and others. */
export function mixedIndex(value: { known: string; [other: string]: string }): void {
  void value;
}
/** Takes keys of a pattern. */
export function templateKeys(value: { [key: `x-${string}`]: number }): void {
  void value;
}
/** Takes an interface that extends another. */
export function peak(value: shapes.Peak): void {
  void value;
}
/** Takes an intersection. */
export function intersection(value: shapes.Point & { zoom: number }): void {
  void value;
}
/** Takes a part of an interface. */
export function picked(value: Pick<shapes.Peak, "lat" | "height">): void {
  void value;
}
/** Takes the rest of an interface. */
export function omitted(value: Omit<shapes.Peak, "lat" | "lon">): void {
  void value;
}
/** Takes any part of an interface. */
export function partial(value: Partial<shapes.Point>): void {
  void value;
}
/** Takes all of an interface. */
export function whole(value: Required<shapes.Point>): void {
  void value;
}
/** Takes a mapped type. */
export function mapped(value: shapes.Lists<shapes.Point>): void {
  void value;
}
/** Takes what a conditional type leaves. */
export function conditional(value: Exclude<string | number | boolean, string>): void {
  void value;
}
/** Takes an instantiated generic. */
export function generic(value: shapes.Box<shapes.Point>): void {
  void value;
}
/** Takes a text of a pattern. */
export function template(value: `v${number}` | `${"up" | "down"}-${string}`): void {
  void value;
}
/** Takes a moment. */
export function moment(value: Date): void {
  void value;
}
/** Takes bytes. */
export function bytes(value: Uint8Array): void {
  void value;
}
/** Takes anything. */
export function anything(value: unknown): void {
  void value;
}
/** Takes anything, and a text after it. */
// oxlint-disable-next-line typescript/no-explicit-any -- the form is what is tested
export function anyFirst(value: any, next: string): void {
  void [value, next];
}
/** Takes anything, or nothing. */
export function perhapsAnything(value?: unknown): void {
  void value;
}
/** Takes members of any type, and one that may be undefined. */
export function openMembers(value: { a: unknown; b?: unknown; c: number | undefined }): void {
  void value;
}
/** Takes what JSON can say. */
export function json(value: shapes.Json): void {
  void value;
}
/** Takes lists of lists without end. */
export function nest(value: shapes.Nest): void {
  void value;
}
/** Takes known texts, and others. */
export function known(value: "a" | "b" | (string & {})): void {
  void value;
}
/** Takes what is said in several types. */
export function several(value: Date | string | null, id: bigint | string): void {
  void [value, id];
}
/** Takes a record of anything. */
export function looseRecord(value: Record<string, unknown>): void {
  void value;
}
/** Takes keys that a mapped type makes. */
export function remapped(value: { [K in "a" | "b" as `get_${K}`]-?: K }): void {
  void value;
}
/** Takes either of two, and what both have. */
export function distributed(value: ({ a: 1 } | { b: 2 }) & { c?: 3 }): void {
  void value;
}
/** Takes a tuple as its arguments. */
export function spread(...values: [first: string, second?: number]): void {
  void values;
}
/** Takes the parameters of another. */
export function parametersOf(value: Parameters<typeof spread>): void {
  void value;
}
/** Takes an object of which nothing is said. */
export function emptyObject(value: {}): void {
  void value;
}
/** Takes what has a length. */
export function measured(value: { length: number }): void {
  void value;
}
/** Takes what has items. */
export function arrayLike(value: ArrayLike<string>): void {
  void value;
}
/** Takes any object. */
export function anyObject(value: object): void {
  void value;
}
/** Takes a type that contains itself. */
export function tree(value: shapes.Tree): void {
  void value;
}
/** Takes types that contain each other. */
export function card(value: shapes.Card): void {
  void value;
}
/** Takes a discriminated union. */
export function shape(value: shapes.Shape): void {
  void value;
}
/** Takes a union in which one key excludes the other. */
export function choice(value: shapes.Choice): void {
  void value;
}
/** Takes a date in one variant and a text in the other. */
export function said(value: shapes.Moment): void {
  void value;
}
/** Takes the values of a constant object. */
export function color(value: shapes.Color): void {
  void value;
}
/** Takes a destructured object. */
export function destructured({
  weight,
  insured = false,
}: {
  weight: number;
  insured?: boolean;
}): void {
  void [weight, insured];
}
/** Takes a constrained type parameter. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the form is what is tested
export function constrained<T extends "a" | "b">(value: T): void {
  void value;
}
/** Takes any number of numbers. */
export function rest(first: string, ...values: number[]): void {
  void [first, values];
}
/** Takes what another type says of a member. */
export function indexed(value: shapes.Point["lat"], key: keyof shapes.Point): void {
  void [value, key];
}
/** Takes its arguments, its signal and its context. */
export async function injected(
  signal: AbortSignal,
  value: string,
  ctx: ToolContext,
): Promise<{ value: string }> {
  signal.throwIfAborted();
  return { value: `${value} ${ctx.callId}` };
}
/** Takes nothing, and yields. */
export const ticks = async function* (count: number): AsyncGenerator<{ tick: number }> {
  for (let tick = 1; tick <= count; tick += 1) yield { tick };
};
/** Takes two by an arrow. */
export const arrow = async (a: number, b: number | undefined): Promise<number> => a + (b ?? 0);

const definition: ToolsDefinition = defineTools({
  tools: [
    ...[text, amount, flag, big, literal, literals, numbers, bigLiterals, nullable, optional],
    ...[defaulted, list, readonlyList, nested, pair, openTuple, readonlyTuple, record],
    ...[keyedRecord, numberKeys, mixedIndex, templateKeys, peak, intersection, picked, omitted],
    ...[partial, whole, mapped, conditional, generic, template, moment, bytes, anything],
    ...[anyObject, tree, card, shape, choice, said, color, destructured, constrained, rest],
    ...[indexed, injected, ticks, arrow, anyFirst, perhapsAnything, openMembers, json, nest],
    ...[known, several, looseRecord, remapped, distributed, spread, parametersOf, emptyObject],
    ...[measured, arrayLike],
  ],
});

export default definition;
