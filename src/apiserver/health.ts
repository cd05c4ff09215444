/** The checks that `/livez?verbose` and its siblings list. */
const checks: readonly string[] = ['ping', 'log', 'storage'];

export interface TextAnswer {
  readonly status: number;
  readonly text: string;
}

/** `/healthz`, `/livez`, `/readyz` and one check below them; `undefined` for a check that is not there. */
export function health(path: string, query: URLSearchParams): TextAnswer | undefined {
  const [, root = '', check = '', ...below] = path.split('/');
  if (check !== '' || below.length > 0)
    return checks.includes(check) && below.length === 0 ? { status: 200, text: 'ok' } : undefined;
  if (!query.has('verbose')) return { status: 200, text: 'ok' };
  const excluded = new Set(query.getAll('exclude'));
  const lines = checks.map((name) => (excluded.has(name) ? `[+]${name} excluded: ok` : `[+]${name} ok`));
  if (root === 'readyz') lines.push('[+]shutdown ok');
  return { status: 200, text: `${lines.join('\n')}\n${root} check passed\n` };
}
