package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const (
	modulePath   = "github.com/redfence/redfence"
	importsFile  = "testdata/imports.txt"
	anyPackage   = "*" // may import every package of the module
	confinedWord = "confined"
)

// importRules is what testdata/imports.txt says: which packages of the module
// a package may import, and which packages may import a third party's module.
type importRules struct {
	arrows   map[string][]string
	confined map[string][]string
}

// TestImportsFollowTheDesign compares what `go list` says with the arrows that
// the design allows. Tests may import more than the code they test.
func TestImportsFollowTheDesign(t *testing.T) {
	rules := readImportRules(t)
	packages := listPackages(t)
	if len(packages) == 0 {
		t.Fatal("go list found no package")
	}
	gone := maps.Clone(rules.arrows)
	for _, p := range packages {
		from := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, modulePath), "/")
		delete(gone, from)
		for _, imported := range p.Imports {
			if wrong := rules.check(from, imported); wrong != "" {
				t.Error(wrong)
			}
		}
	}
	for from := range gone {
		t.Errorf("%s has a row for %s, and there is no such package", importsFile, from)
	}
}

// TestImportRulesForbid shows that the rules would notice the arrows that matter most.
func TestImportRulesForbid(t *testing.T) {
	rules := readImportRules(t)
	forbidden := [][2]string{
		{"proxy", modulePath + "/raftstore"},
		{"proxy", modulePath + "/quorum"},
		{"raftstore", modulePath + "/proxy"},
		{"raftstore/keyspace", modulePath + "/raftstore"},
		{"commands", modulePath + "/proxy"},
		{"nosuchpackage", modulePath + "/commands"},
		{"raftstore", "github.com/tidwall/redcon"},
		{"proxy", "github.com/hashicorp/raft"},
		{"proxy", "github.com/yuin/gopher-lua/ast"},
		{"raftstore", "go.uber.org/zap/zapcore"},
		{"proxy", "github.com/redis/go-redis/v9"},
	}
	for _, arrow := range forbidden {
		if rules.check(arrow[0], arrow[1]) == "" {
			t.Errorf("%s may import %s", arrow[0], arrow[1])
		}
	}
	if wrong := rules.check("cmd/redfence", modulePath+"/proxy"); wrong != "" {
		t.Error(wrong)
	}
}

// check returns "" or why the package from must not import imported.
func (r importRules) check(from, imported string) string {
	if to, inside := strings.CutPrefix(imported, modulePath+"/"); inside {
		allowed, known := r.arrows[from]
		switch {
		case !known:
			return fmt.Sprintf("package %s is not in %s", from, importsFile)
		case !slices.Contains(allowed, to) && !slices.Contains(allowed, anyPackage):
			return fmt.Sprintf("%s must not import %s", from, to)
		}
		return ""
	}
	for module, users := range r.confined {
		if imported != module && !strings.HasPrefix(imported, module+"/") {
			continue
		}
		if !slices.ContainsFunc(users, func(user string) bool { return within(from, user) }) {
			return fmt.Sprintf("%s must not import %s, which is for %v", from, imported, users)
		}
	}
	return ""
}

// within tells whether a package is the named one, or below a name that ends in /...
func within(name, pattern string) bool {
	top, tree := strings.CutSuffix(pattern, "/...")
	return name == top || tree && strings.HasPrefix(name, top+"/")
}

func readImportRules(t *testing.T) importRules {
	t.Helper()
	text, err := os.ReadFile(importsFile)
	if err != nil {
		t.Fatal(err)
	}
	rules := importRules{arrows: map[string][]string{}, confined: map[string][]string{}}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(words[0], "#"):
		case words[0] == confinedWord:
			rules.confined[words[1]] = words[3:]
		default:
			rules.arrows[words[0]] = words[2:]
		}
	}
	return rules
}

// listedPackage is the part of `go list -json` that the test reads.
type listedPackage struct {
	ImportPath string
	Imports    []string
}

func listPackages(t *testing.T) []listedPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = ".."
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, complaints.String())
	}
	var packages []listedPackage
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listedPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}
