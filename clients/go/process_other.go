//go:build !unix

package toolport

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

func terminate(process *os.Process) error { return process.Kill() }

func killGroup(process *os.Process) { _ = process.Kill() }
