import { pino, type DestinationStream, type Logger as Pino, type LoggerOptions } from 'pino';
import { messageOf } from '../base/errors.ts';
import type { LogFields, Logger } from '../base/logger.ts';
import { logText } from './log-text.ts';

/** Levels from the loudest to the quietest. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** What is never written, whatever a caller puts in a field. */
const redacted = [
  'token',
  '*.token',
  'password',
  '*.password',
  'authorization',
  '*.authorization',
  '*.clientKeyData',
];

/** A logger whose level can be set while it is used; loggers made of it by `with` follow. */
export interface LeveledLogger extends Logger {
  level: LogLevel;
}

/** Levels from the loudest to the quietest, as numbers that compare. */
const ranks: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3, silent: 4 };

/**
 * Makes a logger that writes a line for each entry.
 *
 * @param destination a path or a stream; default: stderr
 * @param format `json`: one JSON object a line; `text`: words for people
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

/** Writes each line in words. */
const wordsTo = (target: DestinationStream): DestinationStream => ({
  write: (line) => {
    target.write(logText(line));
  },
});

/** Lines wait, up to so many bytes, while the file cannot be written. */
const mostWaiting = 256 * 1024;

/** A file that is whole even after SIGKILL. A full disk does not end the program: it is told once, on stderr, and later lines go on. */
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

/** It may lead to a full disk, too: there is nobody to tell, and later lines go on. */
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
