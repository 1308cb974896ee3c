package toolport

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// A launch is how to run toolport, without the command line's own part.
type launch struct {
	name string
	args []string
	// bin is put in front of the PATH, so that the script's own node is found.
	bin string
}

// environ is this process's environment with the launch's bin on the PATH.
func (l launch) environ() []string {
	env := os.Environ()
	if l.bin != "" {
		env = append(env, "PATH="+l.bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	return env
}

func findCommand(toolsFile string, command []string) (launch, error) {
	if len(command) == 0 {
		command = strings.Fields(os.Getenv("TOOLPORT_COMMAND"))
	}
	if len(command) > 0 {
		return launch{name: command[0], args: command[1:]}, nil
	}
	unbuilt := ""
	for dir := filepath.Dir(toolsFile); ; dir = filepath.Dir(dir) {
		bin := filepath.Join(dir, "node_modules", ".bin")
		if script := filepath.Join(bin, executable("toolport")); isFile(script) {
			return launch{name: script, bin: bin}, nil
		}
		if packageName(dir) == "toolport" {
			main := filepath.Join(dir, "dist", "src", "cli", "main.js")
			if !isFile(main) {
				unbuilt = dir
			} else if node := nodeIn(bin); node != "" {
				return launch{name: node, args: []string{main}, bin: bin}, nil
			}
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if path, err := exec.LookPath("toolport"); err == nil {
		return launch{name: path}, nil
	}
	if unbuilt != "" {
		return launch{}, fmt.Errorf("toolport: the checkout in %s is not built; run `npm run build` there, or say which command to run with WithCommand", unbuilt)
	}
	return launch{}, fmt.Errorf("toolport: no toolport command for %s; run `npm install toolport` beside it, or name one with WithCommand or TOOLPORT_COMMAND", toolsFile)
}

// nodeIn is the node of a node_modules/.bin, else the one on the PATH.
func nodeIn(bin string) string {
	if node := filepath.Join(bin, executable("node")); isFile(node) {
		return node
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return ""
	}
	return node
}

func executable(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".cmd"
	}
	return name
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func packageName(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return ""
	}
	var manifest struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(text, &manifest) != nil {
		return ""
	}
	return manifest.Name
}
