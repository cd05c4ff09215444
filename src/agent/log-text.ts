/** The levels of pino's numbers, padded to one width. */
const levels: Readonly<Record<number, string>> = { 20: 'DEBUG', 30: 'INFO ', 40: 'WARN ', 50: 'ERROR' };

/** A log line of JSON, as pino writes it, as a line of words: time, level, message, then `name=value` of each field. Pure. */
export function logText(line: string): string {
  let entry: Readonly<Record<string, unknown>>;
  try {
    entry = JSON.parse(line) as Readonly<Record<string, unknown>>;
  } catch {
    return line;
  }
  const { level, time, msg, ...fields } = entry;
  const head = `${String(time)} ${levels[Number(level)] ?? String(level)} ${String(msg)}`;
  const rest = Object.entries(fields).map(([name, value]) => ` ${name}=${valueText(value)}`);
  return `${head}${rest.join('')}\n`;
}

/** Quoted where it would not end at the next space, or hides in white space. */
function valueText(value: unknown): string {
  if (typeof value === 'object' && value !== null) return errorText(value) ?? JSON.stringify(value);
  const text = String(value);
  return /^[^\s"=\\]+$/.test(text) ? text : JSON.stringify(text);
}

/** Errors are objects with a stack, which is for JSON. */
function errorText(value: object): string | undefined {
  const { message, stack } = value as { readonly message?: unknown; readonly stack?: unknown };
  return typeof message === 'string' && stack !== undefined ? JSON.stringify(message) : undefined;
}
