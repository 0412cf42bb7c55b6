// Reads objects as JSON, one a line, and prints what kstatus makes of each: its status, a tab, its message.
package main

import (
	"bufio"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// A cluster of a thousand hosts has some hundred KiB.
const longestLine = 16 << 20

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "kstatus:", err)
		os.Exit(1)
	}
}

func run() error {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		// As its client reads objects: whole numbers are int64.
		var object unstructured.Unstructured
		if err := object.UnmarshalJSON(lines.Bytes()); err != nil {
			return err
		}
		result, err := status.Compute(&object)
		if err != nil {
			return err
		}
		fmt.Printf("%s\t%s\n", result.Status, result.Message)
	}
	return lines.Err()
}
