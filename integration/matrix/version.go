package matrix

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// Package is a library as a file of a client program names it.
type Package struct {
	File string // in the program's directory
	Name string
}

// packages reads FILE:NAME.
func packages(texts ...string) []Package {
	all := make([]Package, len(texts))
	for i, text := range texts {
		file, name, _ := strings.Cut(text, ":")
		all[i] = Package{file, name}
	}
	return all
}

// pinned is how each kind of file pins a package; %s is its quoted name.
var pinned = map[string]string{
	"pom.xml":          `<artifactId>%s</artifactId>\s*<version>([^<]+)</version>`,
	"package.json":     `"%s": "(?:npm:[^"]+@)?([0-9][^"]*)"`,
	"requirements.txt": `(?m)^%s==(\S+)$`,
	"go.mod":           `(?m)^\s*%s v(\S+)`,
}

// Version is the version that the client programs in a directory are built with, "5.8.0 on ioredis 6.0.0, 5.11.1" when the
// client runs on another; a client without packages is the machine's, and tells its version itself.
func (r Row) Version(clients string) (string, error) {
	if len(r.Packages) == 0 {
		return installed(r.Client)
	}
	versions := make([]string, len(r.Packages))
	for i, p := range r.Packages {
		var err error
		if versions[i], err = p.version(filepath.Join(clients, r.Program)); err != nil {
			return "", err
		}
	}
	if len(versions) == 1 {
		return versions[0], nil
	}
	return versions[0] + " on " + r.Packages[1].short() + " " + strings.Join(versions[1:], ", "), nil
}

func (p Package) version(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, p.File))
	if err != nil {
		return "", fmt.Errorf("version of %s: %w", p.Name, err)
	}
	found := regexp.MustCompile(fmt.Sprintf(pinned[p.File], regexp.QuoteMeta(p.Name))).FindSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("version of %s: %s pins none", p.Name, p.File)
	}
	return string(found[1]), nil
}

var majorVersion = regexp.MustCompile(`/v\d+$`)

// short is the name without the place: go-redis of github.com/redis/go-redis/v9. redis is what the Python index calls redis-py.
func (p Package) short() string {
	name := path.Base(majorVersion.ReplaceAllString(p.Name, ""))
	if p.File == "requirements.txt" && name == "redis" {
		return "redis-py"
	}
	return name
}

// installed is the version that a program on the path prints.
func installed(program string) (string, error) {
	out, err := exec.Command(program, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("version of %s: %w", program, err)
	}
	words := strings.Fields(string(out))
	if len(words) < 2 {
		return "", fmt.Errorf("version of %s: it printed %q", program, out)
	}
	return words[1], nil
}

// Versions are the versions of all rows, by ID. Of clients that are the machine's, what counts is the one on record.
func Versions(clients string, results []Result) (map[string]string, error) {
	versions := map[string]string{}
	for _, r := range results {
		versions[r.Client] = r.Version
	}
	for _, row := range Rows() {
		if len(row.Packages) == 0 {
			continue
		}
		version, err := row.Version(clients)
		if err != nil {
			return nil, err
		}
		versions[row.ID] = version
	}
	return versions, nil
}
