// Package toolport is a client for toolport, the process that serves a frozen
// set of TypeScript tools to agent kernels over gRPC.
//
// [Spawn] starts a sidecar on a tools file and ends it again; [Dial] speaks to
// one that runs already. Both give a [Client]:
//
//   - [Client.Manifest] lists the tools
//   - [Client.Select] says which of them to offer the model this turn
//   - [Client.Execute] runs one call to its end
//   - [Client.Stream] runs one call and gives its progress and partial output
//     as they happen
//   - [Client.Refuse] makes the record of a call that was not let run
//
// [Client.Run] opens a live run: any number of calls at once on one stream,
// with functions of the kernel that run-aware tools can ask for.
//
// # Outcomes and faults
//
// What a model can learn from is an outcome: a [ToolCall] whose Error is set,
// returned with a nil error. What a kernel's author must mend is a [*Fault],
// found with [errors.As].
//
// The client asks nothing again unless told to. [WithRetry] does so where it is
// safe, [WithResume] opens a lost run again, and [WithRestart] starts a sidecar
// that died again.
//
// # Numbers
//
// Arguments and results are JSON text on the wire, so no digit is lost on the
// way: an int64 arrives as it left, and [ToolCall.Decode] reads a number that
// has no type of its own into a [encoding/json.Number].
package toolport
