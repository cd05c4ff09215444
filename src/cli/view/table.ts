import type { PodRow, ViewModel } from './view-model.ts';

/** How wide and high the terminal is, and whether colours are wanted. */
export interface Screen {
  readonly columns: number;
  readonly rows: number;
  readonly colour: boolean;
}

const heads = ['POD', 'PHASE', 'READY', 'RESTARTS', 'AGE', 'LAST EVENT'] as const;
const gap = '   ';

/** ANSI colour numbers by how a pod fares. */
const colours = { good: 32, busy: 33, bad: 31, done: 90 } as const;

/**
 * The table as lines that fit the screen: pods in order of their keys; if they are too many for its height, the last line says
 * how many are left out. Pure.
 *
 * @param now ms since the epoch
 * @param spare lines of the screen that others need
 */
export function tableLines(model: ViewModel, now: number, screen: Screen, spare: number): readonly string[] {
  const rows = [...model.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
  const room = Math.max(1, screen.rows - spare - 1);
  const shown = rows.length > room ? rows.slice(0, Math.max(0, room - 1)) : rows;
  const cells = shown.map((row) => cellsOf(row, now));
  const widths = heads.map((head, index) =>
    Math.max(head.length, ...cells.map((line) => line[index]?.length ?? 0)),
  );
  const lay = (line: readonly string[]): string =>
    line
      .map((cell, index) => (index === heads.length - 1 ? cell : cell.padEnd(widths[index] ?? 0)))
      .join(gap);
  const lines = [
    paint(cut(lay(heads), screen.columns), 1, screen.colour),
    ...cells.map((line, index) => {
      const row = shown[index];
      return paint(cut(lay(line), screen.columns), row ? colours[moodOf(row)] : 0, screen.colour);
    }),
  ];
  if (shown.length < rows.length) lines.push(cut(`… and ${rows.length - shown.length} more`, screen.columns));
  return lines;
}

/** `Running`, or with what holds it up: `Pending Init:1/2`. */
export function phaseText({ phase, detail }: PodRow): string {
  return detail === '' ? phase : `${phase} ${detail}`;
}

/** `7s`, `3m`, `3m20s` below ten minutes, `5h`, `2d`: the largest units that matter. */
export function ageText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}

function cellsOf(row: PodRow, now: number): readonly string[] {
  const age = row.createdAt === 0 ? '' : ageText(now - row.createdAt);
  return [row.key, phaseText(row), row.ready, String(row.restarts), age, row.lastEvent];
}

function moodOf(row: PodRow): keyof typeof colours {
  if (row.phase === 'Failed') return 'bad';
  if (row.phase === 'Succeeded') return 'done';
  if (/BackOff|Err|Invalid|Unknown/.test(row.detail)) return 'bad';
  const [ready, total] = row.ready.split('/');
  return row.phase === 'Running' && row.detail === '' && ready === total ? 'good' : 'busy';
}

/** Control characters would break the frame; what is too long ends in `…`. */
export function cut(text: string, columns: number): string {
  const plain = text.replaceAll(/[\u0000-\u001f\u007f]/g, ' ');
  return plain.length <= columns ? plain.trimEnd() : `${plain.slice(0, Math.max(0, columns - 1))}…`;
}

function paint(text: string, colour: number, wanted: boolean): string {
  return wanted && colour > 0 ? `\u001b[${colour}m${text}\u001b[0m` : text;
}
