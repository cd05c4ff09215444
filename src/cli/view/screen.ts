import { cut, type Screen, summaryLine, tableLines } from './table.ts';
import type { ViewModel } from './view-model.ts';

/** All that the live view shows. */
export interface View {
  /** What runs, and how to reach it. */
  readonly header: readonly string[];
  readonly model: ViewModel;
  /** Problems and lines of the log, the newest last. */
  readonly notices: readonly string[];
  readonly footer: string;
}

/** From so many rows on there is room for blank lines and the whole header. */
const roomyRows = 16;
const mostNotices = 5;

/** The live view as at most as many lines as the screen has, each at most as wide. Header, summary, heads of the table and footer always stay. Pure. */
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

/** The view as it stays on the terminal at the end: without limits of height. Pure. */
export function finalLines(
  view: Pick<View, 'model' | 'notices'>,
  now: number,
  screen: Screen,
): readonly string[] {
  const tall = { ...screen, rows: Number.MAX_SAFE_INTEGER };
  const table = view.model.size === 0 ? [] : tableLines(view.model, now, tall, 0);
  return [...view.notices, summaryLine(view.model), ...table];
}
