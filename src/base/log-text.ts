/** The names of pino's level numbers, padded to equal width. */
const levels: Readonly<Record<number, string>> = { 20: 'DEBUG', 30: 'INFO ', 40: 'WARN ', 50: 'ERROR' };

/** Converts a JSON log line of pino to text: time, level, message, then `name=value` for each field. Pure. */
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

/** Formats a value; quoted when it is empty or contains white space. */
function valueText(value: unknown): string {
  if (typeof value === 'object' && value !== null) return errorText(value) ?? JSON.stringify(value);
  const text = String(value);
  return /^[^\s"=\\]+$/.test(text) ? text : JSON.stringify(text);
}

/** The message of an error; its stack appears only in JSON. */
function errorText(value: object): string | undefined {
  const { message, stack } = value as { readonly message?: unknown; readonly stack?: unknown };
  return typeof message === 'string' && stack !== undefined ? JSON.stringify(message) : undefined;
}
