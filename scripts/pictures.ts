import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import xterm, { type IBufferCell } from '@xterm/headless';
import { xml } from '../src/conformance/report.ts';

// Writes docs/pictures/*.svg: screens of the command as a terminal shows them, for README and docs. `npm run pictures`; needs kubectl, and `script`
// of util-linux for terminals. Each picture is what the command printed on this machine; look at them before you commit them.

interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** A command on a terminal of its own, and what that terminal shows. */
class Screen {
  readonly #terminal: xterm.Terminal;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;

  constructor(command: string, { columns, rows }: Size, env: Readonly<Record<string, string>> = {}) {
    this.#terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true });
    const line = `stty cols ${columns} rows ${rows}; ${command}`;
    this.#child = spawn('script', ['-qfec', line, '/dev/null'], {
      env: { ...process.env, TERM: 'xterm-256color', PS1: '$ ', ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child.stdout?.on('data', (bytes: Buffer) => {
      this.#terminal.write(bytes);
    });
    this.#ended = new Promise((resolve) => {
      this.#child.once('close', () => {
        resolve();
      });
    });
  }

  text(): string {
    const { active } = this.#terminal.buffer;
    return Array.from({ length: active.length }, (_, row) =>
      active.getLine(row)?.translateToString(true),
    ).join('\n');
  }

  /** Waits until the screen shows a text. @throws Error with the screen after two minutes */
  async shows(expected: RegExp): Promise<void> {
    for (let tries = 0; tries < 600; tries += 1) {
      if (expected.test(this.text())) return;
      await sleep(200);
    }
    throw new Error(`the screen never showed ${String(expected)}:\n${this.text()}`);
  }

  /** Waits for the end of the command. */
  async ended(): Promise<void> {
    await this.#ended;
  }

  /** Types Ctrl-C and waits for the end of the command. */
  async interrupt(): Promise<void> {
    this.#child.stdin?.write('\u0003');
    await this.#ended;
  }

  /** The rows that the terminal shows now, without empty ones at the end, as runs of equal style. */
  rows(): readonly (readonly Run[])[] {
    const { active } = this.#terminal.buffer;
    const rows = Array.from({ length: this.#terminal.rows }, (_, row) => this.#runs(active.viewportY + row));
    return rows.slice(0, rows.findLastIndex((runs) => runs.length > 0) + 1);
  }

  #runs(row: number): readonly Run[] {
    const line = this.#terminal.buffer.active.getLine(row);
    const runs: { column: number; text: string; style: string }[] = [];
    for (let column = 0; column < this.#terminal.cols; column += 1) {
      const cell = line?.getCell(column);
      const text = cell?.getChars() ?? '';
      if (cell === undefined || text.trim() === '') continue;
      const style = styleOf(cell);
      const last = runs.at(-1);
      const gap = last === undefined ? 0 : column - last.column - last.text.length;
      if (last?.style === style && gap <= 1) last.text += ' '.repeat(gap) + text;
      else runs.push({ column, text, style });
    }
    return runs;
  }
}

/** Cells of one row that stand side by side and look alike. */
interface Run {
  readonly column: number;
  readonly text: string;
  /** CSS classes. */
  readonly style: string;
}

function styleOf(cell: IBufferCell): string {
  const styles = [];
  if (cell.isFgPalette() && cell.getFgColor() < 16) styles.push(`c${cell.getFgColor() % 8}`);
  if (cell.isBold()) styles.push('b');
  if (cell.isDim()) styles.push('d');
  return styles.join(' ');
}

const colours = ['#6e7681', '#ff7b72', '#7ee787', '#e3b341', '#79c0ff', '#d2a8ff', '#76e3ea', '#f0f6fc'];
const cell = { width: 8.4, height: 19 };
const margin = 18;
const bar = 34;

/** Draws a terminal window as SVG. */
function drawing(title: string, rows: readonly (readonly Run[])[], columns: number): string {
  const width = Math.ceil(columns * cell.width + 2 * margin);
  const height = bar + rows.length * cell.height + margin;
  const style = [
    'text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#e6edf3;white-space:pre}',
    '.b{font-weight:bold}.d{opacity:.65}',
    ...colours.map((colour, index) => `.c${index}{fill:${colour}}`),
  ].join('');
  const dots = colours
    .slice(1, 4)
    .map((fill, at) => `<circle cx="${20 + at * 20}" cy="17" r="6" fill="${fill}"/>`);
  const texts = rows.flatMap((runs, row) =>
    runs.map(({ column, text, style: names }) => {
      const x = (margin + column * cell.width).toFixed(1);
      const length = (text.length * cell.width).toFixed(1);
      const y = bar + (row + 0.75) * cell.height;
      return `<text x="${x}" y="${y}" textLength="${length}"${names && ` class="${names}"`}>${xml(text)}</text>`;
    }),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${xml(title)}</title><style>${style}</style>`,
    `<rect width="${width}" height="${height}" rx="9" fill="#0d1117"/>${dots.join('')}`,
    `<text x="${width / 2}" y="22" text-anchor="middle" class="d">${xml(title)}</text>`,
    ...texts,
    '</svg>',
    '',
  ].join('\n');
}

function write(name: string, title: string, screen: Screen, size: Size): void {
  writeFileSync(join('docs/pictures', `${name}.svg`), drawing(title, screen.rows(), size.columns));
  console.error(`docs/pictures/${name}.svg`);
}

/** A shell that shows each command before it runs it. */
const typed = (commands: readonly string[]): string =>
  `sh -c ${quoted(commands.map((command) => `printf '\\033[1m$ %s\\033[0m\\n' ${quoted(command)}; ${command}`).join('\n'))}`;

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

const podtender = 'node bin/podtender.mjs';
const folder = mkdtempSync(join(tmpdir(), 'pictures-'));
try {
  const wide = { columns: 104, rows: 40 };
  const up = new Screen(`${podtender} up --data-dir ${folder}`, { ...wide, rows: 24 });
  try {
    await up.shows(/init-and-sidecar-\S+ +Running +2\/2/);
    await up.shows(/job-\S+ +(Succeeded|Completed)/);
    await up.shows(/crash-loop-\S+.*(Error|CrashLoopBackOff)/);
    write('up', 'npx podtender up', up, wide);
    const kubectl = new Screen(
      typed([
        'kubectl apply -f examples/workloads/web.yaml',
        'kubectl rollout status deployment/web',
        'kubectl get deployments,pods',
        'kubectl logs job-$(hostname)',
        'kubectl top pods',
      ]),
      wide,
      { KUBECONFIG: join(folder, 'kubeconfig') },
    );
    await kubectl.ended();
    write('kubectl', 'kubectl', kubectl, wide);
  } finally {
    await up.interrupt();
  }
  const laws = new Screen(`${podtender} conformance --provider memory`, { ...wide, rows: 34 });
  await laws.ended();
  write('conformance', 'npx podtender conformance --provider memory', laws, wide);
  const simulation = new Screen(`${podtender} simulate --nodes 200 --pods-per-node 5`, { ...wide, rows: 24 });
  try {
    await simulation.shows(/1000 of 1000 Ready/);
    write('simulate', 'npx podtender simulate --nodes 200 --pods-per-node 5', simulation, wide);
  } finally {
    await simulation.interrupt();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
