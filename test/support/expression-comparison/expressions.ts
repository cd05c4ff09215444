import { forms } from './forms.ts';

/** Values of the placeholders in forms. */
const values: Readonly<Record<string, readonly string[]>> = {
  S: '"a" "abc" "10.0.0.1" "2001:db8::1" "1h" "2024-01-02T03:04:05Z" "https://a.example:80/x?y=1" "1Gi" "1.2.3" "é" "" "a,b,c" $O.s $O.d'.split(
    ' ',
  ),
  I: ['1', '0', '-5', '7', '$O.i', 'size($O.l)', '9223372036854775807'],
  L: ['[1, 2, 3]', '$O.l', '["b", "a"]', '[]', '[1, 1, 2]', '$O.ls', '[[1], [2]]'],
  M: ['{"a": 1}', '$O.m', '{}', '{"a": "x", "b": "y"}'],
  B: ['true', 'false', '$O.b'],
  P: ['"^a"', '"[0-9]+"', '"("', '$O.s'],
  F: ['"date"', '"bogus"', '"uuid"', '"datetime"'],
};

/** A range of so many numbers takes all memory of a kube-apiserver. */
const harmful = 'lists.range(9223372036854775807)';

/** Returns different expressions over an object: the same ones for the same seed. */
export function generatedExpressions(
  random: () => number,
  { count, object }: { readonly count: number; readonly object: string },
): readonly string[] {
  const pick = (from: readonly string[]): string => from[Math.floor(random() * from.length)] ?? '';
  const fill = (form: string): string =>
    form.replaceAll(/\$([SILMBPF])/g, (_, name: string) => pick(values[name] ?? []));
  const expressions = new Set<string>();
  for (let tries = 0; expressions.size < count && tries < count * 20; tries++) {
    const expression = fill(pick(forms)).replaceAll('$O', object);
    if (!expression.includes(harmful)) expressions.add(expression);
  }
  return [...expressions];
}
