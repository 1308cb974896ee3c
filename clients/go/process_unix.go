//go:build unix

package toolport

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup keeps a terminal's interrupt from ending the sidecar before the
// kernel has let its calls finish.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminate(process *os.Process) error { return process.Signal(syscall.SIGTERM) }

func killGroup(process *os.Process) {
	// The group has the process's own id; it may be gone already.
	_ = syscall.Kill(-process.Pid, syscall.SIGKILL)
	_ = process.Kill()
}
