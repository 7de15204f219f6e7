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
	"Cargo.toml":       `(?m)^%s = (?:\{ version = )?"=([^"]+)"`,
}

// What stands for a file when no file of a program pins a package.
const (
	debian = "dpkg"   // Debian has it
	played = "played" // no program runs it; its name is the version whose traffic the tests play
)

// installed tells whether the client is the machine's, so that its version is not the project's choice.
func (r Row) installed() bool { return len(r.Packages) == 0 || r.Packages[0].File == debian }

// Version is the version that the client programs in a directory are built with, "5.8.0 on ioredis 6.0.0, 5.11.1" when the
// client runs on another; a client without packages tells its version itself, and one that is played has the one that is played.
func (r Row) Version(clients string) (string, error) {
	if len(r.Packages) == 0 {
		return printed(r.Client)
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
	below := make([]string, len(versions)-1)
	for i := range below {
		if name := r.Packages[i+1].short(); i == 0 || name != r.Packages[i].short() {
			below[i] = name + " "
		}
		below[i] += versions[i+1]
	}
	return versions[0] + " on " + strings.Join(below, ", "), nil
}

func (p Package) version(dir string) (string, error) {
	switch p.File {
	case debian:
		return p.ofDebian()
	case played:
		return p.Name + ", played", nil
	}
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

// ofDebian is the version of a package of Debian, without what Debian adds: 5.3.7 of 5.3.7+4.3.0-3.
func (p Package) ofDebian() (string, error) {
	out, err := exec.Command("dpkg-query", "--show", "--showformat=${Version}", p.Name).Output()
	if err != nil {
		return "", fmt.Errorf("version of %s: %w", p.Name, err)
	}
	version := string(out)
	return version[:strings.IndexAny(version+"-", "+-~")], nil
}

var majorVersion = regexp.MustCompile(`/v\d+$`)

// worldwide are packages that the world knows by another name.
var worldwide = map[Package]string{
	{"requirements.txt", "redis"}: "redis-py", {"package.json", "redis"}: "node-redis", {"package.json", "ioredis5"}: "ioredis",
	{debian, "php-redis"}: "phpredis", {"Cargo.toml", "redis"}: "redis-rs",
}

// short is the name without the place: go-redis of github.com/redis/go-redis/v9.
func (p Package) short() string {
	if name, known := worldwide[p]; known {
		return name
	}
	return path.Base(majorVersion.ReplaceAllString(p.Name, ""))
}

// printed is the version that a program on the path prints.
func printed(program string) (string, error) {
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
		if row.installed() {
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
