// Renders a chart with what helm is built of: Go's text/template, sprig and gojsonschema. It is not helm: it knows neither
// dependencies, hooks nor subcharts, and installs nothing. Stands in for `helm template` in tests where helm is not to be had.
//
// usage: chart_render CHART < {"values": {...}, "namespace": "...", "kubeVersion": "v1.36.0", "apiVersions": []}   prints YAML documents
// With the argument --notes after CHART it prints NOTES.txt in their place.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/semver"
	"github.com/Masterminds/sprig"
	"github.com/ghodss/yaml"
	"github.com/xeipuuv/gojsonschema"
)

type object = map[string]interface{}

type order struct {
	Values      object   `json:"values"`
	Namespace   string   `json:"namespace"`
	KubeVersion string   `json:"kubeVersion"`
	APIVersions []string `json:"apiVersions"`
	Live        object   `json:"live"` // what lookup finds: "Kind/namespace/name"
}

// files is the chart's .Files: all that is no template.
type files struct{ root string }

func (f files) Get(name string) string {
	data, err := os.ReadFile(filepath.Join(f.root, name))
	if err != nil {
		return ""
	}
	return string(data)
}

func (f files) Glob(pattern string) map[string]string {
	out := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(f.root, pattern))
	must(err)
	for _, path := range paths {
		name, err := filepath.Rel(f.root, path)
		must(err)
		out[name] = f.Get(name)
	}
	return out
}

// apiVersions is .Capabilities.APIVersions.
type apiVersions []string

func (a apiVersions) Has(name string) bool {
	for _, v := range a {
		if v == name {
			return true
		}
	}
	return false
}

type kubeVersion struct{ Version, Major, Minor, GitVersion string }

func fail(format string, arguments ...interface{}) {
	fmt.Fprintf(os.Stderr, "Error: "+format+"\n", arguments...)
	os.Exit(1)
}

func must(err error) {
	if err != nil {
		fail("%v", err)
	}
}

func readYAML(path string) object {
	data, err := os.ReadFile(path)
	must(err)
	out := object{}
	must(yaml.Unmarshal(data, &out))
	return out
}

// merge puts what the user says over the defaults; null takes a default away.
func merge(defaults, user object) object {
	for key, value := range user {
		below, isObject := value.(object)
		base, hasObject := defaults[key].(object)
		switch {
		case value == nil:
			delete(defaults, key)
		case isObject && hasObject:
			defaults[key] = merge(base, below)
		default:
			defaults[key] = value
		}
	}
	return defaults
}

func validate(chart string, values object) {
	schema, err := os.ReadFile(filepath.Join(chart, "values.schema.json"))
	must(err)
	text, err := json.Marshal(values)
	must(err)
	result, err := gojsonschema.Validate(gojsonschema.NewBytesLoader(schema), gojsonschema.NewBytesLoader(text))
	must(err)
	if !result.Valid() {
		var lines []string
		for _, e := range result.Errors() {
			lines = append(lines, "- "+e.String())
		}
		fail("values don't meet the specifications of the schema(s) in the following chart(s):\n%s", strings.Join(lines, "\n"))
	}
}

func toYAML(v interface{}) string {
	data, err := yaml.Marshal(v)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(data), "\n")
}

func functions(t *template.Template, live object) template.FuncMap {
	f := sprig.TxtFuncMap()
	delete(f, "env")
	delete(f, "expandenv")
	f["toYaml"] = toYAML
	f["fromYamlArray"] = func(text string) []interface{} {
		out := []interface{}{}
		if err := yaml.Unmarshal([]byte(text), &out); err != nil {
			return []interface{}{err.Error()}
		}
		return out
	}
	f["lookup"] = func(_, kind, namespace, name string) object {
		found, _ := live[kind+"/"+namespace+"/"+name].(object)
		return found
	}
	f["include"] = func(name string, data interface{}) (string, error) {
		var out bytes.Buffer
		err := t.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	f["required"] = func(message string, v interface{}) (interface{}, error) {
		if v == nil || v == "" {
			return v, fmt.Errorf("%s", message)
		}
		return v, nil
	}
	return f
}

func parse(chart string, live object) (*template.Template, []string) {
	t := template.New("chart").Option("missingkey=zero")
	t.Funcs(functions(t, live))
	paths, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	must(err)
	sort.Strings(paths)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		must(err)
		_, err = t.New(filepath.Base(path)).Parse(string(text))
		must(err)
	}
	return t, paths
}

func main() {
	chart := os.Args[1]
	notes := len(os.Args) > 2 && os.Args[2] == "--notes"
	var o order
	must(json.NewDecoder(os.Stdin).Decode(&o))
	version, err := semver.NewVersion(o.KubeVersion)
	must(err)
	about := readYAML(filepath.Join(chart, "Chart.yaml"))
	values := merge(readYAML(filepath.Join(chart, "values.yaml")), o.Values)
	validate(chart, values)
	data := object{
		"Values":  values,
		"Chart":   object{"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"]},
		"Release": object{"Name": "drdotnet", "Namespace": o.Namespace, "Service": "Helm", "IsInstall": true, "Revision": 1},
		"Capabilities": object{"KubeVersion": kubeVersion{o.KubeVersion, fmt.Sprint(version.Major()), fmt.Sprint(version.Minor()),
			o.KubeVersion}, "APIVersions": apiVersions(o.APIVersions)},
		"Files": files{chart},
	}
	t, paths := parse(chart, o.Live)
	for _, path := range paths {
		name := filepath.Base(path)
		if strings.HasPrefix(name, "_") || notes != (name == "NOTES.txt") {
			continue
		}
		var out bytes.Buffer
		must(t.ExecuteTemplate(&out, name, data))
		if strings.Contains(out.String(), "<no value>") {
			fail("%s: a value that is not there", name)
		}
		if !notes {
			fmt.Println("---")
		}
		fmt.Println(out.String())
	}
}
