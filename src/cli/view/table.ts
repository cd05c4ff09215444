import { type PodRow, stopped, type ViewModel } from './view-model.ts';

/** Size of the terminal, and whether colours are used. */
export interface Screen {
  readonly columns: number;
  readonly rows: number;
  readonly colour: boolean;
}

const heads = ['POD', 'STATUS', 'READY', 'RESTARTS', 'AGE', 'LAST EVENT'] as const;
const gap = '  ';
/** A longer status is cut; its details are below the row. */
const statusWidth = (columns: number): number => {
  if (columns < 60) return 12;
  return columns < 100 ? 17 : 26;
};
/** Minimum width of the name and of the last event. */
const leastNameWidth = 16;
const leastEventWidth = 14;
const indent = '    ';

/** ANSI colour numbers by mood. */
const colours = { good: 32, busy: 33, bad: 31, done: 90 } as const;

/** Health of a pod, worst first. */
export type Mood = 'bad' | 'busy' | 'good' | 'done';

/**
 * Returns the table as lines that fit the screen: failing pods first, each with its full reason below, then the others in order of their
 * keys. If there are too many, the last line counts the omitted ones. Pure.
 *
 * @param now ms since the epoch
 * @param spare lines of the screen used by other parts
 */
export function tableLines(model: ViewModel, now: number, screen: Screen, spare: number): readonly string[] {
  const rows = sorted(model);
  const room = Math.max(1, screen.rows - spare - 1);
  const reasons = rows.map((row) => (moodOf(row) === 'bad' ? wrapped(row.failure, screen.columns) : []));
  const plan = planned(reasons, room);
  const shown = rows.slice(0, plan.rows);
  const lay = layout(shown, now, screen.columns);
  const lines = [paint(lay(heads), 1, screen.colour)];
  for (const [index, row] of shown.entries()) {
    const colour = colours[moodOf(row)];
    lines.push(paint(lay(cellsOf(row, now, screen.columns)), colour, screen.colour));
    const reason = clipped(reasons[index] ?? [], plan.reasonLines[index] ?? 0, screen.columns);
    lines.push(...reason.map((line) => paint(line, colour, screen.colour)));
  }
  if (shown.length < rows.length)
    lines.push(
      cut(`… and ${rows.length - shown.length} more: ${summaryOf(rows.slice(plan.rows))}`, screen.columns),
    );
  return lines;
}

/** Returns a summary of the pods: `5 pods: 1 failing, 3 running, 1 completed`. Pure. */
export function summaryLine(model: ViewModel): string {
  if (model.size === 0) return 'no pods';
  return `${model.size === 1 ? '1 pod' : `${model.size} pods`}: ${summaryOf([...model.values()])}`;
}

const moodNames: Readonly<Record<Mood, string>> = {
  bad: 'failing',
  busy: 'not ready',
  good: 'running',
  done: 'ended',
};

function summaryOf(rows: readonly PodRow[]): string {
  const counts = new Map<Mood, number>();
  for (const row of rows) counts.set(moodOf(row), (counts.get(moodOf(row)) ?? 0) + 1);
  return (Object.keys(moodNames) as Mood[])
    .flatMap((mood) => (counts.has(mood) ? `${counts.get(mood) ?? 0} ${moodNames[mood]}` : []))
    .join(', ');
}

function sorted(model: ViewModel): readonly PodRow[] {
  const isBad = (row: PodRow): number => (moodOf(row) === 'bad' ? 0 : 1);
  return [...model.values()].sort((a, b) => isBad(a) - isBad(b) || (a.key < b.key ? -1 : 1));
}

/**
 * Returns how many rows are shown, and how many lines of each row's reason. Rows come first; reasons get the rest, at least half of the
 * space.
 */
function planned(
  reasons: readonly (readonly string[])[],
  room: number,
): { readonly rows: number; readonly reasonLines: readonly number[] } {
  const needed = reasons.reduce((sum, lines) => sum + lines.length, 0);
  const forReasons = Math.min(needed, Math.max(room - reasons.length, Math.floor(room / 2)));
  const forRows = room - forReasons;
  const rows = reasons.length <= forRows ? reasons.length : Math.max(0, forRows - 1);
  let left = forReasons;
  const reasonLines = reasons.slice(0, rows).map(({ length }) => {
    const lines = Math.min(length, left);
    left -= lines;
    return lines;
  });
  return { rows, reasonLines };
}

function clipped(lines: readonly string[], most: number, columns: number): readonly string[] {
  if (lines.length <= most) return lines;
  return lines.slice(0, most).map((line, index) => (index === most - 1 ? cut(`${line} …`, columns) : line));
}

/** Wraps a text to lines that fit, each indented; breaks words that are too long. */
function wrapped(text: string, columns: number): readonly string[] {
  const width = Math.max(8, columns - indent.length);
  const lines: string[] = [];
  let line = '';
  for (const word of plainText(text)
    .split(' ')
    .flatMap((each) => pieces(each, width))) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  if (line !== '') lines.push(line);
  return lines.map((each) => indent + each);
}

const pieces = (word: string, width: number): readonly string[] =>
  word.length <= width ? [word] : (word.match(new RegExp(`.{1,${width}}`, 'gu')) ?? []);

type Cells = readonly string[];

/** Lays out cells in columns that fit: the name shrinks first, then the last event takes the rest. Other columns are never cut. */
function layout(rows: readonly PodRow[], now: number, columns: number): (cells: Cells) => string {
  const cells = rows.map((row) => cellsOf(row, now, columns));
  const natural = heads.map((head, index) =>
    Math.max(head.length, ...cells.map((line) => line[index]?.length ?? 0)),
  );
  const [name = 0, ...rest] = natural;
  const middle = rest.slice(0, -1);
  const fixed = middle.reduce((sum, width) => sum + width + gap.length, 0);
  const beside = columns - fixed - gap.length - leastEventWidth;
  // Without space for both, the name takes all of it.
  const nameWidth = Math.min(name, beside >= leastNameWidth ? beside : Math.max(1, columns - fixed));
  const eventWidth = columns - nameWidth - fixed - gap.length;
  return ([first = '', ...others]) => {
    const event = others.at(-1) ?? '';
    const parts = [
      shortened(first, nameWidth).padEnd(nameWidth),
      ...others.slice(0, -1).map((cell, index) => cell.padEnd(middle[index] ?? 0)),
      ...(eventWidth >= leastEventWidth ? [cut(event, eventWidth)] : []),
    ];
    return cut(parts.join(gap), columns);
  };
}

/** Shortens a name in its middle, since names differ mostly at their start or end. */
function shortened(name: string, width: number): string {
  if (name.length <= width) return name;
  const tail = Math.floor((width - 1) / 2);
  return `${name.slice(0, width - 1 - tail)}…${name.slice(name.length - tail)}`;
}

/** Returns the phase with what holds it up: `Running` or `Pending Init:1/2`. */
export function phaseText({ phase, detail }: PodRow): string {
  return detail === '' ? phase : `${phase} ${detail}`;
}

/** Formats an age in its largest units: `7s`, `3m`, `3m20s` below ten minutes, `5h`, `2d`. */
export function ageText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}

function cellsOf(row: PodRow, now: number, columns: number): Cells {
  const age = row.createdAt === 0 ? '' : ageText(now - row.createdAt);
  const event = row.lastEventAt === 0 ? row.lastEvent : `${ageText(now - row.lastEventAt)} ${row.lastEvent}`;
  return [
    plainText(row.key),
    cut(row.detail === '' ? row.phase : row.detail, statusWidth(columns)),
    row.ready,
    restartsText(row, now),
    age,
    event,
  ];
}

/** Formats restarts like kubectl: `3 (12s ago)`. */
export function restartsText(
  { restarts, restartedAt }: Pick<PodRow, 'restarts' | 'restartedAt'>,
  now: number,
): string {
  return restarts === 0 || restartedAt === 0
    ? String(restarts)
    : `${restarts} (${ageText(now - restartedAt)} ago)`;
}

/** Returns the mood of a pod: it fails, is in progress or blocked, runs completely, or has completed. */
export function moodOf(row: PodRow): Mood {
  if (row.phase === 'Failed' || row.failure !== '') return 'bad';
  if (row.phase === 'Succeeded' || row.detail === stopped) return 'done';
  const [ready, total] = row.ready.split('/');
  return row.phase === 'Running' && row.detail === '' && ready === total ? 'good' : 'busy';
}

/** Replaces control characters, which would break the frame. */
const plainText = (text: string): string => text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, ' ');

/** Returns the text on one line; a longer one ends in `…`. */
export function cut(text: string, columns: number): string {
  const plain = plainText(text);
  return plain.length <= columns ? plain.trimEnd() : `${plain.slice(0, Math.max(0, columns - 1))}…`;
}

function paint(text: string, colour: number, isColoured: boolean): string {
  return isColoured && colour > 0 ? `\u001b[${colour}m${text}\u001b[0m` : text;
}
