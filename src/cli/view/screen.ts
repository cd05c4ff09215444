import { cut, type Screen, summaryLine, tableLines } from './table.ts';
import type { ViewModel } from './view-model.ts';

/** The content of the live view. */
export interface View {
  /** What runs, and how to connect to it. */
  readonly header: readonly string[];
  readonly model: ViewModel;
  /** Problems and log lines, the newest last. */
  readonly notices: readonly string[];
  readonly footer: string;
}

/** With this many rows there is space for blank lines and the whole header. */
const roomyRows = 16;
const mostNotices = 5;

/**
 * Returns the live view in at most as many lines as the screen has, each at most as wide. Header, summary, table head and footer are
 * always included. Pure.
 */
export function screenLines(view: View, now: number, screen: Screen): readonly string[] {
  const { columns, rows } = screen;
  const roomy = rows >= roomyRows;
  const blank = roomy ? [''] : [];
  const header = view.header.slice(0, roomy ? undefined : 1);
  const notices = view.notices.slice(-Math.min(mostNotices, Math.max(1, Math.floor(rows / 6))));
  const above = [...header, ...blank, summaryLine(view.model)].map((line) => cut(line, columns));
  const below = [...(notices.length > 0 ? [...blank, ...notices] : []), ...blank, view.footer].map((line) =>
    cut(line, columns),
  );
  const table = tableLines(view.model, now, screen, above.length + below.length);
  return [...above, ...table, ...below].slice(0, rows);
}

/** Returns the view that stays on the terminal at the end, without a height limit. Pure. */
export function finalLines(
  view: Pick<View, 'model' | 'notices'>,
  now: number,
  screen: Screen,
): readonly string[] {
  const tall = { ...screen, rows: Number.MAX_SAFE_INTEGER };
  const table = view.model.size === 0 ? [] : tableLines(view.model, now, tall, 0);
  return [...view.notices, summaryLine(view.model), ...table];
}
