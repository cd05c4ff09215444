import { describe, expect, test } from 'vitest';
import { compileTemplate } from '../../../src/go/template/template.ts';

const pod = {
  metadata: { name: 'web', labels: { b: '2', a: '1' } },
  spec: { nodeName: 'n', containers: [{ name: 'a', image: 'x' }, { name: 'b' }], hostNetwork: false },
  status: {},
};
const functions = {
  Now: () => '2026-01-01T00:00:00Z',
  NodeIPWith: (node: unknown) => `ip-of-${String(node)}`,
};
const render = (template: string): string => compileTemplate(template, ['Now', 'NodeIPWith'])(pod, functions);

describe('templates', () => {
  test.each([
    ['phase: {{ .metadata.name }}', 'phase: web'],
    ['{{ $now := Now }}at {{ $now | Quote }}', 'at "2026-01-01T00:00:00Z"'],
    ['{{ NodeIPWith .spec.nodeName | Quote }}', '"ip-of-n"'],
    ['{{ range .spec.containers }}- {{ .name }}\n{{ end }}', '- a\n- b\n'],
    [
      '{{ range $i, $c := .spec.containers }}{{ $i }}{{ $c.name }} {{ $.metadata.name }},{{ end }}',
      '0a web,1b web,',
    ],
    ['{{ range $k, $v := .metadata.labels }}{{ $k }}={{ $v }};{{ end }}', 'a=1;b=2;'],
    ['{{ range .status.none }}x{{ else }}none{{ end }}', 'none'],
    ['{{ if .spec.hostNetwork }}host{{ else if .spec.nodeName }}node{{ else }}no{{ end }}', 'node'],
    ['{{ with .status.podIP }}{{ . }}{{ else }}-{{ end }}', '-'],
    ['{{ with .spec.nodeName }}on {{ . }}{{ end }}', 'on n'],
    ['a  {{- /* gone */ -}}  b', 'ab'],
    ['a {{- " - " -}} b', 'a - b'],
    ['{{ or .status.podIP "10.0.0.1" }} {{ and .metadata.name true }}', '10.0.0.1 true'],
    ['{{ if and (eq .metadata.name "web") (not .status.phase) }}yes{{ end }}', 'yes'],
    ['{{ printf "%s-%d %q" .metadata.name 3 "x" }}', 'web-3 "x"'],
    ['{{ index .metadata.labels "a" }} {{ len .spec.containers }}', '1 2'],
    ['{{ (index .spec.containers 1).name }}', 'b'],
    ['{{ .status.none }}', '<no value>'],
    ['{{ $x := 1 }}{{ range .spec.containers }}{{ $x = add $x 1 }}{{ end }}{{ $x }}', '3'],
    ['{{ default "d" .status.phase }}', 'd'],
    ['l:\n  {{ YAML .metadata.labels 1 }}', 'l:\n  b: "2"\n  a: "1"'],
    ['{{ `raw }}` }}', 'raw }}'],
    ['{{ (dict "a" (list 1 2)) | toJson }}', '{"a":[1,2]}'],
  ])('%s', (template, text) => {
    expect(render(template)).toBe(text);
  });

  test.each([
    ['a\n{{ .x', 'line 2: "{{" has no "}}"'],
    ['{{ if .x }}a', 'line 1: the block has no {{ end }}'],
    ['a\n\n{{ nope 1 }}', 'line 3: there is no function "nope"; there are NodeIPWith, Now, Quote, YAML'],
    ['{{ end }}', 'line 1: unexpected {{ end }}'],
    ['{{ template "x" }}', '{{ template }} is not supported'],
    ['{{ (.x }}', '"(" has no ")"'],
    ['{{ .x | }}', 'a function is missing'],
    ['{{ .x ~ }}', 'unexpected "~"'],
  ])('%s is rejected with its line', (template, message) => {
    expect(() => render(template)).toThrow(message);
  });
});
