package toolport_test

import (
	"fmt"
	"testing"

	"toolport.dev/toolport"
)

// TestAbandonedStreamsLeaveNoToolBehind leaves five hundred streams of each
// kind after their first event: no tool runs on in the sidecar, and no
// goroutine is left here, which spawnOn sees to.
func TestAbandonedStreamsLeaveNoToolBehind(t *testing.T) {
	sidecar := spawnOn(t, fieldTools)
	run, err := sidecar.Run(t.Context(), "abandoned")
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]caller{"alone": sidecar, "on a run": run} {
		t.Run(name, func(t *testing.T) {
			for i := range 500 {
				stream, err := of.Stream(t.Context(), toolport.Request{
					CallID: fmt.Sprint(i), Name: "silent", Arguments: map[string]any{"ms": 600_000},
				})
				if err != nil {
					t.Fatal(err)
				}
				for event, err := range stream.Events() {
					if progress, ok := event.(*toolport.Progress); !ok || progress.Message != "hush" {
						t.Fatalf("got %v (%v)", event, err)
					}
					break
				}
			}
			waitForSilence(t, sidecar.Client)
		})
	}
	closeRun(t, run)
}
