import { pino, type DestinationStream, type Logger as Pino, type LoggerOptions } from 'pino';
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
  destination: string | DestinationStream = pino.destination({ dest: 2, sync: true }),
): Logger {
  const options: LoggerOptions = {
    level,
    base: null,
    redact: redacted,
    timestamp: pino.stdTimeFunctions.isoTime,
  };
  const stream =
    typeof destination === 'string'
      ? pino.destination({ dest: destination, mkdir: true, sync: true }) // whole even after SIGKILL
      : destination;
  return adapt(pino(options, stream));
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
