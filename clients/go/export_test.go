package toolport

import (
	"google.golang.org/grpc"

	toolportv1 "toolport.dev/toolport/gen/toolport/v1"
)

// Conn is the client's own connection, with all that the client sets of it.
func (c *Client) Conn() *grpc.ClientConn { return c.conn }

// EventsOf reads the messages of one call one after the other.
func EventsOf(callID string) func(*toolportv1.ExecuteResponse) (Event, error) {
	reader := &eventReader{callID: callID}
	return reader.read
}

// EventOf is an event of a run as one of Execute.
func EventOf(e *toolportv1.CallEvent) *toolportv1.ExecuteResponse { return eventOf(e) }
