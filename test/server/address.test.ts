import test from "ava";
import fc from "fast-check";
import { formatAddress, parseAddress } from "../../src/server/address.ts";

test("an address reads as it is written", (t) => {
  t.deepEqual(parseAddress("unix:/run/x.sock"), { kind: "unix", path: "/run/x.sock" });
  t.deepEqual(parseAddress("unix:///run/x.sock"), { kind: "unix", path: "/run/x.sock" });
  t.deepEqual(parseAddress("unix:x.sock"), { kind: "unix", path: "x.sock" });
  t.deepEqual(parseAddress("localhost:0"), { kind: "tcp", host: "localhost", port: 0 });
  t.deepEqual(parseAddress("[::1]:8080"), { kind: "tcp", host: "::1", port: 8080 });
});

test("an address that can't be read is named with the syntax", (t) => {
  for (const text of [
    "",
    "8080",
    "host",
    "host:",
    "::1:80",
    "a b:1",
    "http://x:1",
    "[::1]",
    "x:1/y",
  ]) {
    t.throws(() => parseAddress(text), {
      code: "CONFIGURATION",
      message: /unix:\/path, host:port/u,
    });
  }
  t.throws(() => parseAddress("x:65536"), { message: /port 65536/u });
  t.throws(() => parseAddress("[nope]:1"), { message: /no IPv6 address/u });
  t.throws(() => parseAddress("unix:"), { message: /lacks the path/u });
  t.throws(() => parseAddress(`unix:/${"x".repeat(200)}`), { message: /has 201 bytes/u });
});

test("formatting and parsing undo each other", (t) => {
  const tcp = fc.record({
    kind: fc.constant("tcp" as const),
    host: fc.oneof(fc.ipV4(), fc.ipV6(), fc.domain()),
    port: fc.nat(65_535),
  });
  fc.assert(
    fc.property(tcp, (address) => {
      t.deepEqual(parseAddress(formatAddress(address)), address);
    }),
  );
});
