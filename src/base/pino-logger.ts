import { pino, type DestinationStream, type Logger as Pino, type LoggerOptions } from 'pino';
import { AgentError, messageOf } from './errors.ts';
import { type LogFields, type Logger, silentLogger } from './logger.ts';
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

/** The pino logger behind each logger that writes with one. */
const behind = new WeakMap<Logger, Pino>();

/**
 * Returns a logger that writes with a pino logger of the caller's: its level, redaction and destination apply.
 *
 * @example
 * const manager = new Manager({ connection, logger: fromPino(pino({ level: 'info' })) });
 */
export const fromPino = (log: Pino): Logger => adapt(log, undefined);

/**
 * Returns the pino logger behind a logger, with the fields that the logger adds to each line: in a reconcile those of the controller, the
 * object and the `reconcileID`. For libraries that take a pino logger.
 *
 * @param of a logger, or what has one: the context of a reconcile
 * @throws {AgentError} `invalid_argument` when the logger does not write with pino
 *
 * @example
 * controllerManagedBy(manager).for(Memcached).complete(async (request, context) => {
 *   pinoOf(context).info({ err }, 'the cache does not answer');
 * });
 */
export function pinoOf(of: Logger | { readonly logger: Logger }): Pino {
  const logger = 'logger' in of ? of.logger : of;
  if (logger === silentLogger) return pino({ level: 'silent' });
  const found = behind.get(logger);
  if (!found)
    throw new AgentError(
      'invalid_argument',
      'pinoOf: the logger does not write with pino: give the manager one of fromPino or pinoLogger',
    );
  return found;
}

function adapt(log: Pino, gate: { readonly level: LogLevel } | undefined): Logger {
  const write =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields?: LogFields): void => {
      if (!gate || ranks[level] >= ranks[gate.level]) log[level](fields ?? {}, message);
    };
  const logger: Logger = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    with: (fields) => adapt(log.child(fields), gate),
  };
  behind.set(logger, log);
  return logger;
}
