import { commandOf } from './command.ts';
import { type Result, sections } from './run.ts';

/** The results of one kubectl. */
export interface Column {
  readonly version: string;
  readonly results: readonly Result[];
}

const head = [
  '# kubectl',
  '',
  'What `kubectl` gets from `podtender up`, a single node whose containers are processes. A test (`test/e2e/kubectl-table.test.ts`) runs each command of these',
  'tables, in this order, with each version of kubectl against a server of its own. The exit code is that of the command, and the result a line of what it prints:',
  'the last one, or the one that matters. `DIR` is a folder with the files that the commands name; `AGE` and `…` stand for what is another each time. Where',
  'versions differ, each has its line.',
  '',
].join('\n');

const tail =
  '\n`UPDATE=1 npx vitest run --project e2e test/e2e/kubectl-table.test.ts` writes this page, after `scripts/get-kubectl.sh`.\n';

const none: Result = { exit: '', text: '' };

const cell = (text: string): string => {
  const short = text.length > 120 ? `${text.slice(0, 119)}…` : text;
  const fence = short.includes('`') ? '``' : '`';
  return short === '' ? '' : `${fence}${short.replaceAll('|', '\\|')}${fence}`;
};

/** Returns the page of all commands with what they gave. */
export function kubectlPage(columns: readonly Column[]): string {
  let at = 0;
  const parts = sections.map(({ title, commands }) => {
    const rows = commands.map((command) => {
      const results = columns.map(({ version, results }) => ({ ...(results[at] ?? none), version }));
      at++;
      const each = (of: (result: Result) => string): string => {
        const texts = results.map(of);
        if (new Set(texts).size === 1) return texts[0] ?? '';
        return results.map(({ version }, at) => `${version}: ${texts[at]}`).join('<br>');
      };
      const line = commandOf(command).line;
      return `| ${cell(`kubectl ${line}`)} | ${each(({ exit }) => exit)} | ${each(({ text }) => cell(text))} |`;
    });
    return `## ${title}\n\n| command | exit | result |\n| --- | --- | --- |\n${rows.join('\n')}\n`;
  });
  const versions = columns.map(({ version }) => version).join(' and ');
  return `${head}\nThese are ${at} commands with kubectl ${versions}.\n\n${parts.join('\n')}${tail}`;
}
