package toolport

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTheNearestCommandIsFound(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) string {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	find := func(toolsFile string, command ...string) string {
		t.Helper()
		l, err := findCommand(toolsFile, command)
		if err != nil {
			return err.Error()
		}
		return strings.Join(append([]string{l.name}, l.args...), " ")
	}
	tools := write("app/src/tools.ts", "")
	t.Setenv("PATH", "")
	t.Setenv("TOOLPORT_COMMAND", "")

	if got := find(tools); !strings.Contains(got, "npm install toolport") {
		t.Errorf("got %s, want what to do", got)
	}
	onPath := write("path/toolport", "#!/bin/sh\n")
	t.Setenv("PATH", filepath.Dir(onPath))
	if got := find(tools); got != onPath {
		t.Errorf("got %s, want the command on the PATH", got)
	}
	write("package.json", `{"name":"toolport"}`)
	node := write("node_modules/.bin/node", "")
	if got := find(tools); got != onPath {
		t.Errorf("got %s, want the command on the PATH, as the checkout is not built", got)
	}
	t.Setenv("PATH", "")
	if got := find(tools); !strings.Contains(got, "npm run build") {
		t.Errorf("got %s, want what to do", got)
	}
	main := write("dist/src/cli/main.js", "")
	if got := find(tools); got != node+" "+main {
		t.Errorf("got %s, want the checkout", got)
	}
	installed := write("app/node_modules/.bin/toolport", "#!/bin/sh\n")
	if got := find(tools); got != installed {
		t.Errorf("got %s, want the installed one", got)
	}
	t.Setenv("TOOLPORT_COMMAND", "npx  toolport")
	if got := find(tools); got != "npx toolport" {
		t.Errorf("got %s, want that of the environment", got)
	}
	if got := find(tools, "deno", "run", "toolport"); got != "deno run toolport" {
		t.Errorf("got %s, want the option's", got)
	}
}

func TestTheReadyLineIsFoundInNoise(t *testing.T) {
	ready := make(chan readyLine, 1)
	var logged []string
	w := newReadyLines(ready, func(line string) { logged = append(logged, line) })
	for _, piece := range []string{
		"noise\r\n", `{"toolport"`, "\n", `{"level":30}` + "\n", "[1]\n", strings.Repeat("x", maxLine+1), "\n",
		`{"toolport":1,"address":"unix:/s","digest":"sha256:1",`, `"pid":4,"tokenFile":"/t","more":[]}` + "\nlater\n", "unfinished",
	} {
		if n, err := w.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Errorf("wrote %d of %d (%v)", n, len(piece), err)
		}
	}
	want := readyLine{Version: 1, Address: "unix:/s", Digest: "sha256:1", PID: 4, TokenFile: "/t"}
	if got := <-ready; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if !slices.Equal(logged, []string{"noise", `{"toolport"`, `{"level":30}`, "[1]", strings.Repeat("x", maxLine), "later"}) {
		t.Errorf("logged %q", logged)
	}
	for line, contains := range map[string]string{
		`{"toolport":2,"address":"unix:/s"}`: "version 2",
		`{"toolport":1}`:                     "no address",
		`{"toolport":"x"}`:                   "can't be read",
	} {
		if r, ok := parseReadyLine(line); !ok || r.err == nil || !strings.Contains(r.err.Error(), contains) {
			t.Errorf("%s: got %+v", line, r)
		}
	}
}
