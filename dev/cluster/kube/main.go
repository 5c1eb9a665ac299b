// Kubernetes in one file: each of its commands, picked by the name it is called by or by its first argument.
//
//	kube kube-apiserver --etcd-servers=...
//	kubectl get pods            (a link named kubectl)
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var commands = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllers.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubelet":                 func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
	"kube-proxy":              proxy.NewProxyCommand,
	"kubectl":                 func() *cobra.Command { return kubectl.NewDefaultKubectlCommand() },
}

func main() {
	if commands[filepath.Base(os.Args[0])] == nil && len(os.Args) > 1 {
		os.Args = os.Args[1:]
	}
	command := commands[filepath.Base(os.Args[0])]
	if command == nil {
		fmt.Fprintf(os.Stderr, "kube: no command %q\n", filepath.Base(os.Args[0]))
		os.Exit(2)
	}
	os.Exit(cli.Run(command()))
}
