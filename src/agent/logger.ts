import { pino, type DestinationStream, type Logger as Pino, type LoggerOptions } from 'pino';
import { messageOf } from '../base/errors.ts';
import type { LogFields, Logger } from '../base/logger.ts';

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

/** Log lines as JSON, one a line. `destination` is a path or a stream; default: stderr. */
export function pinoLogger(
  level: LogLevel,
  destination: string | DestinationStream = standardError(),
): Logger {
  const options: LoggerOptions = {
    level,
    base: null,
    redact: redacted,
    timestamp: pino.stdTimeFunctions.isoTime,
  };
  const stream = typeof destination === 'string' ? logFile(destination) : destination;
  return adapt(pino(options, stream));
}

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

function adapt(log: Pino): Logger {
  const write =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields?: LogFields): void => {
      log[level](fields ?? {}, message);
    };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    with: (fields) => adapt(log.child(fields)),
  };
}
