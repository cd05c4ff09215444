/** Structured fields of a log line: `pod` (namespace/name), `uid`, `step`, `err` and whatever names the matter. Never a secret. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Where log lines go. The message is constant text, what varies is in the fields; the level says who must act. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A logger that adds `fields` to each line. */
  with(fields: LogFields): Logger;
}

/** Says nothing: the default of every embedder who passes no logger. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  with: () => silentLogger,
};
