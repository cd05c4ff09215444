/** `podtender/controller/logging`: logs of a manager and its reconciles by pino. Re-exports only. */
export type { LogFields, Logger } from '../../base/logger.ts';
export { fromPino, type LeveledLogger, type LogLevel, pinoLogger, pinoOf } from '../../base/pino-logger.ts';
