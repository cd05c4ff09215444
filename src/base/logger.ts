/** Structured fields of a log line: `pod` (namespace/name), `uid`, `step`, `err` and others that identify the subject. Never a secret. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Logger writes structured log lines. The message is a constant; variable parts go into the fields. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Returns a logger that adds `fields` to each line. */
  with(fields: LogFields): Logger;
}

/** A logger that discards every line; the default where no logger is passed. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  with: () => silentLogger,
};
