package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"
)

const (
	configFlag        = "config"
	defaultConfigFile = "redfence.yaml"
	envPrefix         = "REDFENCE"
)

// loadConfig reads the configuration of `redfence serve`: flag before environment before file before default.
// Its errors say what to change; they are usage errors.
func loadConfig(flags *pflag.FlagSet) (Config, error) {
	var cfg Config
	if err := load(flags, &cfg); err != nil {
		return Config{}, err
	}
	cfg.resolve()
	return cfg, cfg.Validate()
}

// load fills the struct that into points at from the flags' values, REDFENCE_ variables, file and defaults.
func load(flags *pflag.FlagSet, into any) error {
	if err := checkEnvironment(flags); err != nil {
		return err
	}
	v := viper.New()
	v.SetEnvPrefix(envPrefix)
	v.SetEnvKeyReplacer(strings.NewReplacer("-", "_"))
	v.AllowEmptyEnv(true) // REDFENCE_HTTP_LISTEN= turns HTTP off
	v.AutomaticEnv()
	if err := v.BindPFlags(flags); err != nil {
		return err
	}
	settings, err := readConfigFile(v.GetString(configFlag))
	if err != nil {
		return err
	}
	if err := v.MergeConfigMap(settings); err != nil {
		return err
	}
	return describe(v.Unmarshal(into, viper.DecodeHook(mapstructure.ComposeDecodeHookFunc(
		mapstructure.TextUnmarshallerHookFunc(),
		mapstructure.StringToTimeDurationHookFunc(),
		durationNeedsUnit,
		mapstructure.StringToSliceHookFunc(","),
	))))
}

// durationNeedsUnit refuses a bare number in the file, which would otherwise count nanoseconds.
func durationNeedsUnit(from, to reflect.Type, value any) (any, error) {
	if to == reflect.TypeFor[time.Duration]() && from.Kind() != reflect.String && from != to {
		return nil, fmt.Errorf("%v has no unit; write for example 100ms or 2s", value)
	}
	return value, nil
}

// describe turns what the decoder found into one line per setting, named as in the file.
func describe(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("a setting has a value of the wrong kind: %w", err)
}

// readConfigFile returns the file's settings. Only the default file may be missing.
func readConfigFile(path string) (map[string]any, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && path == defaultConfigFile {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	settings := map[string]any{}
	if err := yaml.Unmarshal(text, &settings); err != nil {
		return nil, fmt.Errorf("configuration file %s: %w", path, err)
	}
	if unknown := unknownKeys(settings); len(unknown) > 0 {
		return nil, fmt.Errorf("configuration file %s: unknown key %s; the keys are the flags of `redfence help` "+
			"without the dashes in front", path, strings.Join(unknown, ", "))
	}
	return settings, nil
}

// unknownKeys lists the keys that no command has a flag for, sorted and quoted.
func unknownKeys(settings map[string]any) []string {
	known := pflag.NewFlagSet("", pflag.ContinueOnError)
	addServeFlags(known)
	addClientFlags(known)
	var unknown []string
	for key := range settings {
		if known.Lookup(key) == nil {
			unknown = append(unknown, fmt.Sprintf("%q", key))
		}
	}
	slices.Sort(unknown)
	return unknown
}
