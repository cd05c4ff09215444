import { describe, expect, test } from 'vitest';
import { compileTemplate } from '../../../src/go/template/template.ts';

const data = {
  name: 'web',
  count: 3,
  list: ['a', 'b'],
  map: { b: 2, a: 1 },
  empty: '',
  nested: { deep: { x: 'y' } },
};
const render = (template: string, missing?: string): string =>
  compileTemplate(template, [], missing)(data, {});

describe('renders as Go does', () => {
  const cases: [string, string][] = [
    ['plain text', 'plain text'],
    ['{{ .name }}-{{ .nested.deep.x }}', 'web-y'],
    ['{{ .none }}', '<no value>'],
    ['{{ if .empty }}a{{ else if .count }}b{{ else }}c{{ end }}', 'b'],
    ['{{ range .list }}[{{ . }}]{{ end }}', '[a][b]'],
    ['{{ range $i, $e := .list }}{{ $i }}={{ $e }};{{ end }}', '0=a;1=b;'],
    ['{{ with .nested }}{{ .deep.x }} {{ $.name }}{{ end }}', 'y web'],
    ['{{ $n := .name }}{{ $n }}', 'web'],
    ['a {{- " b " -}} c', 'a b c'],
    ['{{ printf "%s:%d" .name .count }}', 'web:3'],
    ['{{ if and (eq .name "web") (gt .count 2) }}yes{{ end }}', 'yes'],
    ['{{ .map }}', 'map[a:1 b:2]'],
    ['{{/* a comment */}}x', 'x'],
  ];
  test.each(cases)('%s', (template, text) => {
    expect(render(template)).toBe(text);
  });

  test('a path that leads to nothing is empty where that is asked for', () => {
    expect(render('[{{ .none }}]', '')).toBe('[]');
    expect(render('[{{ .none }}]')).toBe('[<no value>]');
  });
});

test.each([
  ['{{ .name', 'line 1'],
  ['a\n{{ nosuch .name }}', 'line 2'],
  ['{{ if .name }}', 'end'],
  ['{{ end }}', 'unexpected'],
])('%j is refused with its place', (template, part) => {
  expect(() => render(template)).toThrow(part);
});
