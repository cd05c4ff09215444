/** One fault of an expression, at an offset in its source. */
export interface Problem {
  /** UTF-16 offset; -1: of the expression as a whole. */
  readonly at: number;
  readonly message: string;
}

/** Line, counted from 1, and column, counted in code points from 0. */
interface Location {
  readonly line: number;
  readonly column: number;
}

const lineOf = (text: string, at: number): Location => {
  if (at < 0) return { line: -1, column: -1 };
  const before = text.slice(0, at).split('\n');
  return { line: before.length, column: Array.from(before.at(-1) ?? '').length };
};

const longestSnippet = 16_384;
const isWide = (character: string): boolean => (character.codePointAt(0) ?? 0) > 0x7f;

/** The line of a fault with a mark below its place. */
function snippet(line: string, column: number): string {
  const shown = line.replaceAll('\t', ' ');
  if (Buffer.byteLength(shown) > longestSnippet) return '';
  const characters = Array.from(shown);
  const dots = characters.slice(0, column).map((one) => (isWide(one) ? '\uFF0E' : '.'));
  const mark = isWide(characters[column] ?? '') ? '\uFF3E' : '^';
  return `\n | ${shown}\n | ${dots.join('')}${mark}`;
}

const mostReported = 100;

/** Returns the faults of an expression as cel-go prints them: by place, each with the line it is in. */
export function problemText(text: string, problems: readonly Problem[]): string {
  const lines = text.split('\n');
  const placed = problems
    .slice(0, mostReported)
    .map(({ at, message }) => ({ ...lineOf(text, at), message }))
    .sort((a, b) => a.line - b.line || a.column - b.column);
  const texts = placed.map(({ line, column, message }) => {
    // an empty text has no first column
    if (text === '') return `ERROR: <input>:1:0: ${message}`;
    const source = lines[line - 1];
    return `ERROR: <input>:${line}:${column + 1}: ${message}${source === undefined ? '' : snippet(source, column)}`;
  });
  const more = problems.length - mostReported;
  if (more > 0) texts.push(`${more} more errors were truncated`);
  return texts.join('\n');
}

/** An expression that cannot be parsed or does not type-check. */
export class CompileError extends Error {
  override readonly name = 'CompileError';
  constructor(text: string, problems: readonly Problem[]) {
    super(problemText(text, problems));
  }
}
