package toolport_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"toolport.dev/toolport"
)

// contractServers are those that cases name.
type contractServers struct {
	Servers map[string]string
	Token   string
}

// TestContract runs the contract's cases on the connection of a client.
func TestContract(t *testing.T) {
	cases := contractCases(t)
	var served contractServers
	serveCases(t, filepath.Join("test", "conformance", "contract", "server.ts"), &served)
	clients, variables := contractWorlds(t, served)
	t.Run("cases", func(t *testing.T) {
		for _, c := range cases {
			t.Run(c.ID, func(t *testing.T) {
				t.Parallel()
				if c.Only != nil && !slices.Contains(c.Only.Protocols, "grpc") {
					t.Skip(c.Only.Why)
				}
				name := serverOf(c)
				found := runContractCase(clients[name].Conn(), c, variables[name])
				switch {
				case c.KnownFailure != "" && len(found) == 0:
					t.Errorf("%s: it passes, though it is known to fail: %s", c.Title, c.KnownFailure)
				case c.KnownFailure != "":
					t.Skip(c.KnownFailure)
				case len(found) > 0:
					t.Errorf("%s: %s", c.Title, strings.Join(found, "\n"))
				}
			})
		}
	})
	t.Run("a server that breaks the contract is found out", func(t *testing.T) {
		for id, instead := range map[string]string{
			"manifest/all": "empty", "execute/echo": "empty", "retry/replay": "narrow", "access/manifest": "main", "limits/overloaded": "main",
		} {
			at := slices.IndexFunc(cases, func(c contractCase) bool { return c.ID == id })
			if at < 0 {
				t.Errorf("there is no case %s", id)
				continue
			}
			if found := runContractCase(clients[instead].Conn(), cases[at], variables[serverOf(cases[at])]); len(found) == 0 {
				t.Errorf("%s passes against the server %s", id, instead)
			}
		}
	})
}

func contractCases(t *testing.T) []contractCase {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repository, "src", "conformance", "cases", "*.json"))
	if err != nil || len(files) == 0 {
		t.Skip("the cases are in the repository, not in the module")
	}
	var cases []contractCase
	for _, file := range files {
		var topic struct{ Cases []contractCase }
		readRepositoryFile(t, strings.TrimPrefix(file, repository), &topic)
		cases = append(cases, topic.Cases...)
	}
	return cases
}

// contractWorlds is a client for each server, and what placeholders stand for
// in its cases.
func contractWorlds(t *testing.T, served contractServers) (map[string]*toolport.Client, map[string]map[string]string) {
	t.Helper()
	clients, variables := make(map[string]*toolport.Client), make(map[string]map[string]string)
	dial := func(address string, options ...toolport.DialOption) *toolport.Client {
		client, err := toolport.Dial(address, options...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
	for name, address := range served.Servers {
		clients[name] = dial(address)
		asking := clients[name]
		if name == "guarded" {
			asking = dial(address, toolport.WithToken(served.Token))
		}
		manifest, err := asking.Manifest(t.Context(), toolport.ManifestRequest{})
		if err != nil {
			t.Fatal(err)
		}
		variables[name] = map[string]string{"digest": manifest.Digest, "token": served.Token}
	}
	return clients, variables
}

func serverOf(c contractCase) string {
	if c.Server == "" {
		return "main"
	}
	return c.Server
}

// readRepositoryFile reads JSON data of the repository, which a module alone
// does not have.
func readRepositoryFile(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, path))
	if os.IsNotExist(err) {
		t.Skipf("%s is in the repository, not in the module", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := decodeJSON(text, into); err != nil {
		t.Fatal(err)
	}
}
