package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// variable is the environment variable of a flag.
func variable(name string) string {
	return envPrefix + "_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// knownFlags are the flags of all commands.
func knownFlags() *pflag.FlagSet {
	known := pflag.NewFlagSet("", pflag.ContinueOnError)
	addServeFlags(known)
	addClientFlags(known)
	addImportFlags(known)
	addConfigFlag(known)
	return known
}

// checkEnvironment names each variable whose value its flag would not take. What a flag on the command line overrides
// does not matter.
func checkEnvironment(flags *pflag.FlagSet) error {
	var errs []error
	known := knownFlags()
	flags.VisitAll(func(f *pflag.Flag) {
		name := variable(f.Name)
		value, given := os.LookupEnv(name)
		scratch := known.Lookup(f.Name)
		if !given || f.Changed || scratch == nil || (value == "" && mayBeEmpty(f)) {
			return
		}
		if err := scratch.Value.Set(value); err != nil {
			errs = append(errs, fmt.Errorf("the environment variable %s is %q, which is no %s (%w); the default is %s",
				name, value, f.Value.Type(), err, f.DefValue))
		}
	})
	return errors.Join(errs...)
}

// mayBeEmpty tells whether an empty variable is a value of the flag; of a bool it is false.
func mayBeEmpty(f *pflag.Flag) bool {
	return slices.Contains([]string{"string", "stringSlice", "bool"}, f.Value.Type())
}

// strayVariables lists the REDFENCE_ variables of an environment that no command reads, each with the name that was
// probably meant. What Kubernetes sets for a service named redfence (REDFENCE_SERVICE_HOST, REDFENCE_PORT_6380_TCP) is
// nobody's mistake.
func strayVariables(environ []string) []string {
	var known, strays []string
	knownFlags().VisitAll(func(f *pflag.Flag) { known = append(known, variable(f.Name)) })
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		rest, ours := strings.CutPrefix(name, envPrefix+"_")
		if !ours || slices.Contains(known, name) || strings.HasPrefix(rest, "SERVICE_") || strings.HasPrefix(rest, "PORT") {
			continue
		}
		if meant := nearest(name, known); meant != "" {
			name += " (did you mean " + meant + "?)"
		}
		strays = append(strays, name)
	}
	slices.Sort(strays)
	return strays
}

// nearest returns the name with the fewest differences, "" when each differs in more than a third of the word.
func nearest(word string, names []string) string {
	best, fewest := "", (len(word)-len(envPrefix)-1)/3+1
	for _, name := range names {
		if n := differences(word, name); n < fewest {
			best, fewest = name, n
		}
	}
	return best
}

// differences is the Levenshtein distance of two words: how many letters must be put in, left out or replaced.
func differences(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := corner
			if a[i] != b[j] {
				replaced++
			}
			corner = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
