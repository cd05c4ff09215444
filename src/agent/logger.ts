import { pino, type DestinationStream, type Logger as Pino, type LoggerOptions } from 'pino';
import { messageOf } from '../base/errors.ts';
import type { LogFields, Logger } from '../base/logger.ts';
import { logText } from './log-text.ts';

/** The log levels, from most to least verbose. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** The field names whose values are never written. */
const redacted = [
  'token',
  '*.token',
  'password',
  '*.password',
  'authorization',
  '*.authorization',
  '*.clientKeyData',
];

/** A logger whose level can be changed at any time, also for loggers derived with `with`. */
export interface LeveledLogger extends Logger {
  level: LogLevel;
}

/** The levels as comparable numbers, from most to least verbose. */
const ranks: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3, silent: 4 };

/**
 * Makes a logger that writes one line per entry.
 *
 * @param destination a path or a stream. Default: stderr
 * @param format `json` for one JSON object per line, `text` for human-readable lines
 *
 * @example
 * const logger = pinoLogger('info', process.stdout);
 */
export function pinoLogger(
  level: LogLevel,
  destination: string | DestinationStream = standardError(),
  format: 'json' | 'text' = 'json',
): LeveledLogger {
  const options: LoggerOptions = {
    level: 'debug',
    base: null,
    redact: redacted,
    timestamp: pino.stdTimeFunctions.isoTime,
  };
  const target = typeof destination === 'string' ? logFile(destination) : destination;
  const stream = format === 'json' ? target : wordsTo(target);
  const gate = { level };
  return Object.defineProperty(adapt(pino(options, stream), gate), 'level', {
    get: () => gate.level,
    set: (next: LogLevel) => {
      gate.level = next;
    },
  }) as LeveledLogger;
}

/** Writes each line as text. */
const wordsTo = (target: DestinationStream): DestinationStream => ({
  write: (line) => {
    target.write(logText(line));
  },
});

/** The size of the buffer for lines while the file cannot be written, bytes. */
const mostWaiting = 256 * 1024;

/**
 * A log file that is complete even after SIGKILL. A full disk does not end the program: it is reported once on stderr, and later lines are
 * written again.
 */
function logFile(path: string): DestinationStream {
  const file = pino.destination({ dest: path, mkdir: true, sync: true, maxLength: mostWaiting });
  let failing = false;
  file.on('error', (reason: unknown) => {
    if (!failing) process.emitWarning(`the log ${path} cannot be written: ${messageOf(reason)}`);
    failing = true;
  });
  file.on('write', () => {
    failing = false;
  });
  return file;
}

/** Standard error, which may go to a full disk too: that cannot be reported anywhere, and later lines are written again. */
function standardError(): DestinationStream {
  const stream = pino.destination({ dest: 2, sync: true, maxLength: mostWaiting });
  stream.on('error', () => undefined);
  return stream;
}

function adapt(log: Pino, gate: { readonly level: LogLevel }): Logger {
  const write =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields?: LogFields): void => {
      if (ranks[level] >= ranks[gate.level]) log[level](fields ?? {}, message);
    };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    with: (fields) => adapt(log.child(fields), gate),
  };
}
